"""Which host or device each row of a generic table is about, as the table writes it.

The finest thing that a row names is what the row is about: a MIG slice or port before a GPU or
NIC, those before the host. Rack, switch, feed and loop beside a host say where the host is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import polars as pl

from workbench.model import frames
from workbench.model.context import Context
from workbench.model.pci import normal_pci_column
from workbench.readers.cells import clean_text
from workbench.readers.columns import WHERE, WHO, Layout

__all__ = ["Who", "identify", "parse_entity"]

_GPU_NAME = r"(?i)^(?:(?:(?:gpu|nvidia|cuda:|card)[-_ ]?)?\d{1,3}|(?:gpu|mig)-[0-9a-f-]{8,}|[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.\d)?)$"
_INSIDE = ("gpu", "gpu_instance", "nic", "link", "port", "disk", "cpu", "sensor", "fan", "psu", "dimm")
_PART = re.compile(r"([a-z]+)[-_]?(\d+)", re.IGNORECASE)
_NIC = re.compile(r"mlx\d_(?:bond_)?\d+")
_KINDS = frozenset(
    {
        *_INSIDE,
        "host",
        "switch",
        "rack",
        "row",
        "hall",
        "site",
        "pdu",
        "outlet",
        "loop",
        "job",
        "user",
        "cluster",
        "nvswitch",
    }
)
_PLACES = ("rack", "switch", "pdu", "loop")
_SIGNED = r"^[-+_ ]+\d"  # GPUs are counted from 0; -1 stands for none, or for all
_NO_INDEX = "no index of a GPU"
_NO_KIND = "device is no name of a GPU: state device_kind in a mapping (--map)"
_OPEN_ENTITY = "entity does not say what it is: write host/gpu0 or kind:name, or state device_kind in a mapping (--map)"
_NOBODY = "row names no host and no device"


@dataclass(frozen=True, eq=False, kw_only=True)
class Who:
    """The things that rows are about.

    Attributes
    ----------
    code : (row,) UInt32
        Row of ``table`` for each row of the data.
    table : polars.DataFrame
        ``host``, ``device_kind``, ``device``, ``bad`` (why the rows cannot be placed; null where
        they can) and ``cure``.
    links, aliases : polars.DataFrame
        What the columns say beside that: host in rack; index and UUID of one GPU, with the
        ``@code`` that says so.
    """

    code: pl.Series
    table: pl.DataFrame
    links: pl.DataFrame
    aliases: pl.DataFrame

    def of(self, name: str) -> pl.Series:
        """Give a column of the table, row by row."""
        return self.table[name].gather(self.code)

    def spanned(self, ts: pl.Series) -> pl.DataFrame:
        """Give the aliases with the span over which each was seen.

        Parameters
        ----------
        ts : (row,) Int64
            UTC microseconds.
        """
        if not self.aliases.height:
            return frames.empty(frames.ALIASES)
        seen = (
            pl.DataFrame({"@code": self.code, "ts": ts})
            .group_by("@code")
            .agg(low=pl.col("ts").min(), high=pl.col("ts").max())
        )
        found = self.aliases.join(seen, on="@code", how="inner", maintain_order="left")
        spans = found.group_by(frames.ALIASES.names()[:-2], maintain_order=True).agg(
            valid_from=pl.col("low").min().cast(frames.TS), valid_to=pl.col("high").max().cast(frames.TS)
        )
        return spans.select(frames.ALIASES.names()).cast(frames.ALIASES)


def parse_entity(text: str) -> tuple[str | None, str, str | None] | None:
    """Give host, device kind and device of a written entity; None where it does not say what it is.

    Examples
    --------
    >>> parse_entity("node-a01/gpu0"), parse_entity("c1/node7/gpu:GPU-1f"), parse_entity("rack:r7")
    (('node-a01', 'gpu', '0'), ('node7', 'gpu', 'GPU-1f'), (None, 'rack', 'r7'))
    >>> parse_entity("node-a01") is None
    True
    """
    *above, last = [part for part in text.split("/") if part] or [""]
    host = above[-1] if above else None
    kind, colon, name = last.partition(":")
    if colon and name and kind in _KINDS:
        return (name, kind, None) if kind == "host" else (host if kind in _INSIDE else None, kind, name)
    found = _PART.fullmatch(last)
    if host is not None and found and found[1].lower() in _INSIDE:
        return host, found[1].lower(), found[2]
    return (host, "nic", last) if host is not None and _NIC.fullmatch(last) else None


def identify(frame: pl.DataFrame, layout: Layout, context: Context, *, told: dict[str, Any] | None = None) -> Who:
    """Tell what each row is about.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns of the table.
    layout : Layout
    context : Context
        ``host`` stands in where the table has no host column; ``columns.device_kind`` names the
        kind of ``device``.
    told : dict, optional
        Of one file: what the last rows said, which the next ones are likely to say again.

    Examples
    --------
    >>> from workbench.readers.columns import layout_of
    >>> frame = pl.DataFrame({"time": ["1"] * 3, "host": ["a", "a", None], "gpu": ["0", None, "1"], "temp": ["5"] * 3})
    >>> who = identify(frame, layout_of(frame.columns, Context()), Context())
    >>> [row[:3] for row in who.table.rows()], who.code.to_list(), who.of("bad").to_list()[2]
    ([('a', 'gpu', '0'), ('a', 'host', None), (None, 'gpu', '1')], [0, 1, 2], 'row names no host and no device')
    """
    used = [(role, layout.roles[role]) for role in (*WHO, *WHERE) if role in layout.roles]
    columns = list(dict.fromkeys(name for _, name in used if not name.startswith("=")))
    if columns:
        distinct = frame.select(columns).unique(maintain_order=True).with_row_index("@code")
        code = frame.select(columns).join(distinct, on=columns, how="left", nulls_equal=True, maintain_order="left")[
            "@code"
        ]
    else:
        distinct = pl.DataFrame({"@code": [0]}, schema={"@code": pl.UInt32()})
        code = pl.repeat(0, frame.height, dtype=pl.UInt32, eager=True)
    known = None if told is None else told.get("identify")
    if known is None or known[0] is not layout or not known[1].equals(distinct):
        known = (layout, distinct, _described(distinct, used, context))
        if told is not None:
            told["identify"] = known
    table, links, aliases = known[2]
    return Who(code=code, table=table, links=links, aliases=aliases)


def _described(
    distinct: pl.DataFrame, used: list[tuple[str, str]], context: Context
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Give table, links and aliases of distinct ways to say who."""
    told = {role: _text(distinct, name) for role, name in used}
    none = pl.repeat(None, distinct.height, dtype=pl.String, eager=True)
    roles = pl.DataFrame({role: told.get(role, none) for role in (*WHO, *WHERE)})
    roles = roles.with_columns(gpu_pci=pl.coalesce(normal_pci_column(pl.col("gpu_pci")), "gpu_pci"))
    if "host" not in told and context.host is not None:
        roles = roles.with_columns(host=pl.lit(context.host))
    table = _placed(roles, context.columns.device_kind)
    return table, _links(roles, table), _aliases(roles, table)


def _text(frame: pl.DataFrame, name: str) -> pl.Series:
    if name.startswith("="):
        return pl.repeat(name[1:], frame.height, dtype=pl.String, eager=True)
    return clean_text(frame[name])


def _placed(roles: pl.DataFrame, stated_kind: str | None) -> pl.DataFrame:
    """Give host, kind and device: the finest name that a row holds."""
    roles = _with_entity(roles, stated_kind)
    gpu = pl.coalesce("gpu_uuid", "gpu", "gpu_pci", "gpu_serial")
    kind = pl.coalesce("device_kind", pl.lit(stated_kind or "gpu"))
    parent = pl.coalesce("nic", "switch", "device")
    chain = [
        (pl.lit("gpu_instance"), pl.when(gpu.is_not_null()).then(pl.concat_str(gpu, pl.col("mig"), separator=":"))),
        (pl.lit("port"), pl.concat_str(pl.concat_str(parent, pl.lit("/")).fill_null(""), pl.col("port"))),
        (pl.lit("outlet"), pl.concat_str(pl.concat_str("pdu", pl.lit("/")).fill_null(""), pl.col("outlet"))),
        (pl.lit("gpu"), gpu),
        (pl.lit("nic"), pl.col("nic")),
        (kind, pl.when(kind != "host").then("device")),
        (pl.col("entity_kind"), pl.col("entity_device")),
        *((pl.lit(name), pl.when(pl.col("host").is_null()).then(name)) for name in _PLACES),
    ]
    host_device = pl.when((kind == "host") & pl.col("device").is_not_null()).then("device")
    table = roles.with_columns(
        pl.coalesce("host", "entity_host", host_device).alias("@host"),
        pl.coalesce(*(pl.when(name.is_not_null()).then(kind_) for kind_, name in chain), pl.lit("host")).alias("@kind"),
        pl.coalesce(*(name for _, name in chain)).alias("@device"),
    )
    return _judged(table, stated_kind)


def _judged(table: pl.DataFrame, stated_kind: str | None) -> pl.DataFrame:
    """Say of what was placed whether it can stand: a device that no host holds, a name of no known kind."""
    free = pl.col("@kind").is_in(_INSIDE).not_() | pl.col("@device").str.contains(r"(?i)^(?:GPU|MIG)-")
    of_switch = (pl.col("@kind") == "port") & pl.col("nic").is_null() & pl.col("switch").is_not_null()
    nobody = pl.col("@host").is_null() & ~(free & pl.col("@device").is_not_null()) & ~of_switch
    bare = pl.all_horizontal(
        pl.col(name).is_null() for name in ("gpu_uuid", "gpu", "gpu_pci", "gpu_serial", "nic", "port")
    )
    strange = bare & pl.col("device").is_not_null() & ~pl.col("device").str.contains(_GPU_NAME)
    strange &= pl.lit(stated_kind is None) & pl.col("device_kind").is_null()
    signed = pl.col("gpu").str.contains(_SIGNED) & pl.col("gpu_uuid").is_null()
    open_entity = pl.col("entity").is_not_null() & pl.col("entity_kind").is_null() & pl.col("@device").is_null()
    return table.select(
        pl.when(of_switch).then(None).otherwise("@host").alias("host"),
        pl.col("@kind").alias("device_kind"),
        pl.col("@device").alias("device"),
        bad=pl.when(signed.fill_null(value=False))
        .then(pl.lit(_NO_INDEX))
        .when(open_entity)
        .then(pl.lit(_OPEN_ENTITY))
        .when(strange.fill_null(value=False))
        .then(pl.lit(_NO_KIND))
        .when(nobody.fill_null(value=True))
        .then(pl.lit(_NOBODY)),
        cure=pl.when(open_entity | strange.fill_null(value=False)).then(pl.lit("map")),
    )


def _with_entity(roles: pl.DataFrame, stated_kind: str | None) -> pl.DataFrame:
    """Take written entities apart, each distinct one once."""
    found = [_entity(text, stated_kind) for text in roles["entity"].to_list()]
    schema = {"entity_host": pl.String(), "entity_kind": pl.String(), "entity_device": pl.String()}
    return roles.hstack(pl.DataFrame(found, schema=schema, orient="row"))


def _entity(text: str | None, stated_kind: str | None) -> tuple[str | None, str | None, str | None]:
    found = parse_entity(text) if text is not None else None
    if found is None and text is not None and stated_kind is not None:
        return (text, "host", None) if stated_kind == "host" else (None, stated_kind, text)
    return found or (None, None, None)


def _links(roles: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """Say where each host is, and what each part is a part of."""
    rows = roles.select(pl.all().name.prefix("@")).hstack(table).filter(pl.col("bad").is_null())
    gpu = pl.coalesce("@gpu_uuid", "@gpu", "@gpu_pci", "@gpu_serial")
    kind, host = pl.col("device_kind"), pl.col("host")
    inside = [
        ("gpu", kind == "gpu_instance", gpu, host),
        ("nic", kind == "port", pl.col("@nic"), host),
        ("switch", (kind == "port") & pl.col("@nic").is_null(), pl.col("@switch"), pl.lit(None, pl.String)),
        ("pdu", kind == "outlet", pl.col("@pdu"), pl.lit(None, pl.String)),
    ]
    parts = [
        _link(rows.filter(here & name.is_not_null()), "device_kind", pl.col("device"), (to_host, to_kind, name))
        for to_kind, here, name, to_host in inside
    ]
    places = [
        _link(
            rows.filter(host.is_not_null() & pl.col(f"@{place}").is_not_null()),
            pl.lit("host"),
            pl.lit(None, pl.String),
            (pl.lit(None, pl.String), place, pl.col(f"@{place}")),
        )
        for place in _PLACES
    ]
    return pl.concat([*places, *parts]).unique(maintain_order=True)


def _link(
    rows: pl.DataFrame, kind: str | pl.Expr, device: pl.Expr, parent: tuple[pl.Expr, str, pl.Expr]
) -> pl.DataFrame:
    to_host, to_kind, to_device = parent
    never = pl.lit(None, frames.TS)
    return rows.select(
        host="host",
        device_kind=kind,
        device=device,
        relation=pl.lit("in"),
        to_host=to_host,
        to_kind=pl.lit(to_kind),
        to_device=to_device,
        valid_from=never,
        valid_to=never,
    ).cast(frames.LINKS)


def _aliases(roles: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """Say which names of a GPU stand beside its UUID."""
    rows = (
        roles.with_columns(table["host"].alias("@host"))
        .with_row_index("@code")
        .filter(pl.col("@host").is_not_null() & pl.col("gpu_uuid").is_not_null())
    )
    found = [
        rows.filter(pl.col(role).is_not_null()).select(
            "@code",
            host="@host",
            device_kind=pl.lit("gpu"),
            device=pl.col(role),
            same_as="gpu_uuid",
            rule=pl.lit(f"columns {role} and gpu_uuid of one row"),
        )
        for role in ("gpu", "gpu_pci", "gpu_serial")
    ]
    return pl.concat(found)
