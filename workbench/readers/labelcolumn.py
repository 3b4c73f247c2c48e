"""A column of label sets (MAP, list of pairs, struct, or JSON text), read as an exporter's labels are.

Each distinct set is read once; who it is about is told by the same rules as for a scrape, so that a
series has one identity whichever way it comes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace

import orjson
import polars as pl

from workbench.readers.columns import Layout
from workbench.readers.exposition_who import alias_rows, entity_rows, label_json, link_rows, who_of, wide_labels

__all__ = ["LEFT", "LabelSets", "expand_labels", "parse_labels"]

#: Column that holds the labels without a role, as JSON.
LEFT = "@labels"
_PAIR = re.compile(r'\s*([A-Za-z_][\w.]*)\s*[=:]\s*(?:"((?:[^"\\]|\\.)*)"|([^,;"]*))\s*(?:[,;]|$)')
_ROLES = {"metric": "metric", "host": "host", "device_kind": "device_kind", "device": "device"}


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelSets:
    """The distinct label sets of some rows, and which row has which.

    Attributes
    ----------
    code : (row,) UInt32
    who : polars.DataFrame
        As :func:`workbench.readers.exposition_who.who_of`, with ``labels``; ``id`` is the code.
    """

    code: pl.Series
    who: pl.DataFrame

    def tables(self, good: pl.Series, ts: pl.Series) -> dict[str, pl.DataFrame]:
        """Give ``entities``, ``links`` and ``aliases`` that the labels tell, over the span of the good rows."""
        seen = pl.DataFrame({"id": self.code.filter(good), "ts": ts})
        spans = seen.group_by("id").agg(low=pl.col("ts").min(), high=pl.col("ts").max())
        known = self.who.join(spans, on="id", how="inner", maintain_order="left")
        return {"entities": entity_rows(known), "links": link_rows(known), "aliases": alias_rows(known)}


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
        found = {str(pair.get("key", pair.get("name"))): pair.get("value") for pair in found if isinstance(pair, dict)}
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


def expand_labels(
    frame: pl.DataFrame, layout: Layout, host: str | None = None
) -> tuple[pl.DataFrame, Layout, LabelSets | None]:
    """Give the labels column of a long table the roles that its labels have; what is left is :data:`LEFT`.

    Parameters
    ----------
    frame : polars.DataFrame
    layout : Layout
    host : str or None
        What the user stated, where labels name no host.

    Examples
    --------
    >>> layout = Layout(shape="long", roles={"labels": "l", "value": "v"})
    >>> labels = '{"__name__":"DCGM_FI_DEV_GPU_TEMP","gpu":"0","instance":"a:9400","job":"x"}'
    >>> wide, found, _ = expand_labels(pl.DataFrame({"l": [labels], "v": [1.0]}), layout)
    >>> wide.drop("l", "v").rows(), found.roles["host"]
    ([('DCGM_FI_DEV_GPU_TEMP', 'a', 'gpu', '0', '{"job":"x"}')], '@host')
    """
    column = layout.column("labels")
    if column is None:
        return frame, layout, None
    named = layout.column("metric")
    metric = (
        frame[named].cast(pl.String)
        if named
        else pl.repeat(layout.constant("metric"), frame.height, dtype=pl.String, eager=True)
    )
    keys = pl.DataFrame({"@set": _as_text(frame[column]), "@metric": metric})
    distinct = keys.unique(maintain_order=True).with_row_index("id")
    who = _who(distinct, host)
    found = keys.join(
        distinct.join(who, on="id", how="left"),
        on=["@set", "@metric"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    open_roles = [role for role in _ROLES if role not in layout.roles]
    columns = found.select(
        *(pl.col(_ROLES[role]).alias(f"@{role}") for role in open_roles), pl.col("labels").alias(LEFT)
    )
    roles = {**layout.roles, **{role: f"@{role}" for role in open_roles}}
    told = replace(layout, roles=roles, rest=(*layout.rest, LEFT))
    return frame.hstack(columns), told, LabelSets(code=found["id"], who=who)


def _who(distinct: pl.DataFrame, host: str | None) -> pl.DataFrame:
    """Say of each label set whose it is; a set that cannot be read names no metric."""
    sets = [parse_labels(text) if text is not None else {} for text in distinct["@set"].to_list()]
    rows, metrics = [], []
    for code, (labels, metric) in enumerate(zip(sets, distinct["@metric"].to_list(), strict=True)):
        left = dict(labels or {})
        name = left.pop("__name__", None)
        metrics.append(None if labels is None else metric or name)
        rows += [(code, key, value) for key, value in left.items()]
    schema = {"id": pl.UInt32(), "label": pl.String(), "value": pl.String()}
    told = pl.DataFrame(rows, schema=schema, orient="row")
    names = distinct.select("id", metric=pl.Series(metrics, dtype=pl.String), first=pl.lit(0))
    who = who_of(wide_labels(names, told), nodename=None, host=host)
    return who.join(label_json(who, told), on="id", how="left", maintain_order="left").with_columns(
        pl.col("labels").fill_null("{}")
    )


def _as_text(cells: pl.Series) -> pl.Series:
    """Give each label set as text that tells it from every other."""
    if cells.dtype == pl.String:
        return cells
    if isinstance(cells.dtype, pl.Map):
        cells = cells.cast(pl.List(pl.Struct({"key": pl.String(), "value": pl.String()})))
    if isinstance(cells.dtype, pl.Struct):
        return cells.struct.json_encode()
    if isinstance(cells.dtype, pl.List) and isinstance(cells.dtype.inner, pl.Struct):
        pair = pl.element().struct.json_encode()
        listed = cells.to_frame("l").select(
            pl.concat_str(pl.lit("["), pl.col("l").list.eval(pair).list.join(","), pl.lit("]"))
        )
        return listed.to_series()
    return cells.cast(pl.String, strict=False)
