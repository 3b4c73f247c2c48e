"""What derived events are made of: rows of a small shape, and questions that several definitions ask."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from workbench.store.samples import literal

__all__ = ["ROWS", "Ask", "Row", "Settings", "host_of", "rows_of", "samples_sql", "values_of"]

Ask = Callable[..., pl.DataFrame]
Settings = Mapping[str, float]
#: Times are UTC microseconds.
ROWS = pl.Schema(
    {
        "ts": pl.Int64(),
        "ts_low": pl.Int64(),
        "ts_high": pl.Int64(),
        "entity": pl.String(),
        "code": pl.String(),
        "message": pl.String(),
        "attributes": pl.String(),
    }
)
Row = tuple[int, int, int, str, str, str, Mapping[str, Any]]


def rows_of(rows: Sequence[Row]) -> pl.DataFrame:
    """Lay out events; of the attributes, those that are None are left out.

    Examples
    --------
    >>> rows_of([(5, 4, 6, "c/n1", "hw", "m", {"a": 1, "b": None})])["attributes"].to_list()
    ['{"a":1}']
    """
    told = [(*row[:6], _json(row[6])) for row in rows]
    return pl.DataFrame(told, schema=ROWS, orient="row")


def _json(parts: Mapping[str, Any]) -> str:
    kept = {key: value for key, value in parts.items() if value is not None}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def host_of(entity: str) -> str | None:
    """Give the host that an id is, or lies in, by its own path.

    Examples
    --------
    >>> host_of("c/n1/gpu:GPU-1"), host_of("c/n1"), host_of("c/rack:r7"), host_of("c")
    ('c/n1', 'c/n1', None, None)
    """
    parts = entity.split("/")
    return "/".join(parts[:2]) if len(parts) > 1 and ":" not in parts[1] else None


def samples_sql(metrics: Sequence[str]) -> str:
    """Write a query for the values of metrics: ``entity, metric, us, value``, one a time and metric."""
    named = ", ".join(literal(metric) for metric in metrics)
    return (
        f"select entity, metric, epoch_us(ts)::bigint as us, max(value) as value from samples_of([{named}]) "
        "where value is not null and isfinite(value) group by all"
    )


def values_of(ask: Ask, metrics: Sequence[str]) -> pl.DataFrame:
    """Give the values of metrics, by entity, metric and time."""
    return ask(f"select * from ({samples_sql(metrics)}) order by entity, metric, us")
