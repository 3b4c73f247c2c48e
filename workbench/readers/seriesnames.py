"""Names of series that stand in headers and hold labels: whose they are, told as of an exporter's labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import orjson
import polars as pl

from workbench.model.context import Context
from workbench.readers.columns import Layout, Problem
from workbench.readers.dialect import Dialect, sniff
from workbench.readers.labelcolumn import LEFT, expand_labels
from workbench.readers.metriccolumns import MetricColumn
from workbench.readers.units import split_unit

__all__ = ["SeriesName", "columns_of", "dialect_with", "with_hosts"]

_NO_HOST = "no name of a series says which host: state host for the file in a mapping (--map)"


@dataclass(frozen=True, kw_only=True)
class SeriesName:
    """What the name of a series says.

    Attributes
    ----------
    metric : str
    labels : mapping of label to value
    """

    metric: str
    labels: Mapping[str, str] = field(default_factory=dict)


def dialect_with(head: bytes, time: str, context: Context) -> Dialect | None:
    r"""Tell how a table is written whose header holds the column ``time``, whatever else is in the file.

    Examples
    --------
    >>> dialect_with(b"junk\nTime;a\n1;2\n", "Time", Context()).header_line
    2
    """
    columns = replace(context.columns, roles={"ts": time})
    found = sniff(head, replace(context, columns=columns))
    return found if found is not None and time in found.names else None


def columns_of(names: Mapping[str, SeriesName], context: Context) -> tuple[MetricColumn, ...]:
    """Turn columns into metrics.

    Parameters
    ----------
    names : mapping of column to SeriesName
    context : Context
        Units, kinds, and the host of series that name none.

    Examples
    --------
    >>> name = SeriesName(metric="temp [C]", labels={"instance": "n1:9400", "gpu": "0", "job": "x"})
    >>> column, = columns_of({"a": name}, Context())
    >>> column.metric, column.unit, column.host, column.device_kind, column.device, column.labels
    ('temp', 'C', 'n1', 'gpu', '0', '{"job":"x"}')
    """
    plain = [split_unit(name.metric) for name in names.values()]
    frame = pl.DataFrame(
        {
            "m": [metric for metric, _ in plain],
            "l": [orjson.dumps(dict(name.labels)).decode() for name in names.values()],
        },
        schema={"m": pl.String(), "l": pl.String()},
    ).with_columns(v=pl.lit(0.0))
    layout = Layout(shape="long", roles={"metric": "m", "labels": "l", "value": "v"})
    told, found, _ = expand_labels(frame, layout, context.host)
    stated = context.columns
    columns = []
    for (column, row), (metric, unit) in zip(zip(names, told.iter_rows(named=True), strict=True), plain, strict=True):
        kind, device = row[found.roles["device_kind"]], row[found.roles["device"]]
        columns.append(
            MetricColumn(
                column=column,
                metric=metric,
                host=row[found.roles["host"]],
                device_kind=kind if device is not None else None,
                device=device,
                labels=row[LEFT] or "{}",
                unit=stated.units.get(column) or stated.units.get(metric) or unit,
                kind=stated.kinds.get(column) or stated.kinds.get(metric),
            )
        )
    return tuple(columns)


def with_hosts(
    metrics: Sequence[MetricColumn], ts: str, context: Context, notes: tuple[str, ...] = ()
) -> tuple[Layout | Problem, Context]:
    """Lay out a wide table whose columns name their hosts; a problem where one does not and none is stated."""
    if not metrics or not all(column.host for column in metrics):
        return Problem(reason=_NO_HOST, curable="host"), context
    layout = Layout(shape="wide", roles={"ts": ts}, metrics=tuple(metrics), notes=notes)
    return layout, replace(context, host=metrics[0].host)  # of rows; every column has its own
