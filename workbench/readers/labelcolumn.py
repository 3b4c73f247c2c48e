"""A column of label sets (MAP, list of pairs, struct, or JSON text) taken apart into columns.

Each distinct set is read once. What names the metric, the host or the GPU becomes a column of that
role; what is left stays labels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

import orjson
import polars as pl

from workbench.readers.columns import Layout
from workbench.readers.metriccolumns import label_text

__all__ = ["LEFT", "expand_labels", "parse_labels"]

#: Column that holds the labels without a role, as JSON.
LEFT = "@labels"
_ROLES = {
    "metric": ("__name__",),
    "host": ("Hostname", "hostname", "host", "node", "nodename", "instance"),
    "gpu_uuid": ("UUID", "gpu_uuid", "uuid"),
    "gpu": ("gpu", "GPU", "gpu_index"),
}
_PAIR = re.compile(r'\s*([A-Za-z_][\w.]*)\s*[=:]\s*(?:"((?:[^"\\]|\\.)*)"|([^,;"]*))\s*(?:[,;]|$)')


def parse_labels(text: str) -> dict[str, str] | None:
    r"""Read one label set: a JSON object, or ``a="b",c=d`` with or without braces.

    Examples
    --------
    >>> parse_labels('{"gpu": "0", "x": null}'), parse_labels('{gpu="0",host=a}'), parse_labels("?")
    ({'gpu': '0'}, {'gpu': '0', 'host': 'a'}, None)
    """
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = None
    if isinstance(found, list):
        found = {str(pair.get("key")): pair.get("value") for pair in found if isinstance(pair, dict)}
    if isinstance(found, dict):
        return {
            key: value if isinstance(value, str) else json.dumps(value)
            for key, value in found.items()
            if value is not None
        }
    body = text.strip().removeprefix("{").removesuffix("}")
    if not body.strip():
        return {}
    if _PAIR.sub("", body).strip():
        return None
    return {
        key: re.sub(r"\\(.)", r"\1", quoted) if quoted else bare.strip() for key, quoted, bare in _PAIR.findall(body)
    }


def expand_labels(frame: pl.DataFrame, layout: Layout) -> tuple[pl.DataFrame, Layout]:
    """Replace the labels column of a long table by columns of roles and :data:`LEFT`.

    Examples
    --------
    >>> layout = Layout(shape="long", roles={"labels": "l", "value": "v"})
    >>> frame = pl.DataFrame({"l": ['{"__name__":"temp","gpu":"0","instance":"a:9400","job":"x"}'], "v": [1.0]})
    >>> wide, found = expand_labels(frame, layout)
    >>> wide.drop("l", "v").rows(), sorted(found.roles)
    ([('temp', 'a', None, '0', '{"job":"x"}')], ['gpu', 'gpu_uuid', 'host', 'labels', 'metric', 'value'])
    """
    column = layout.column("labels")
    if column is None:
        return frame, layout
    text = _as_text(frame[column])
    distinct = text.unique()
    open_roles = [role for role in _ROLES if role not in layout.roles]
    rows = [_taken(parse_labels(item) if item is not None else {}, open_roles) for item in distinct.to_list()]
    names = [f"@{role}" for role in open_roles]
    table = pl.DataFrame(rows, schema=dict.fromkeys([*names, LEFT], pl.String()), orient="row").with_columns(
        distinct.alias("@set")
    )
    found = pl.DataFrame({"@set": text}).join(table, on="@set", how="left", nulls_equal=True, maintain_order="left")
    roles = {**layout.roles, **dict(zip(open_roles, names, strict=True))}
    return frame.hstack(found.drop("@set")), replace(layout, roles=roles, rest=(*layout.rest, LEFT))


def _as_text(cells: pl.Series) -> pl.Series:
    """Give each label set as text that tells it from every other."""
    if cells.dtype == pl.String:
        return cells
    if isinstance(cells.dtype, pl.Struct):
        return cells.struct.json_encode()
    if isinstance(cells.dtype, pl.List) and isinstance(cells.dtype.inner, pl.Struct):
        pair = pl.element().struct.json_encode()
        listed = cells.to_frame("l").select(
            pl.concat_str(pl.lit("["), pl.col("l").list.eval(pair).list.join(","), pl.lit("]"))
        )
        return listed.to_series()
    return cells.cast(pl.String, strict=False)


def _taken(labels: Mapping[str, str] | None, roles: list[str]) -> list[str | None]:
    """Give the values of the roles, then what is left; a set that cannot be read gives nothing."""
    if labels is None:
        return [None] * (len(roles) + 1)
    left = dict(labels)
    values: list[str | None] = []
    for role in roles:
        name = next((name for name in _ROLES[role] if name in left), None)
        value = left.pop(name) if name is not None else None
        values.append(value.rsplit(":", 1)[0] if role == "host" and name == "instance" and value else value)
    return [*values, label_text(left)]
