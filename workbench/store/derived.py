"""Derived events of a store, by their definitions: in the shape of the recorded ones, never among them unasked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from workbench.errors import NothingToDoError, UnknownNameError
from workbench.model.derived import Definition, definitions, load_definitions
from workbench.model.frames import TS
from workbench.store.derive_devices import link_flaps, power_throttles, thermal_throttles, vanished
from workbench.store.derive_hosts import changes, reboots
from workbench.store.derive_jobs import checkpoint_stalls, slowdowns, stragglers
from workbench.store.derive_rows import Ask, Settings
from workbench.store.layout import FIXED

__all__ = ["DEFINITIONS_FILE", "Derived", "definitions_of", "derive"]

#: Numbers of a store's own, beside its tables.
DEFINITIONS_FILE = "derived.toml"
_RULES: dict[str, Callable[[Ask, Settings], pl.DataFrame]] = {
    "straggler": stragglers,
    "slowdown": slowdowns,
    "checkpoint.stall": checkpoint_stalls,
    "throttle.thermal": thermal_throttles,
    "throttle.power": power_throttles,
    "reboot": reboots,
    "link.flap": link_flaps,
    "vanished": vanished,
    "change": changes,
}


def definitions_of(root: Path) -> tuple[Definition, ...]:
    """Give the definitions that hold for a store: ours, with the numbers of its own ``derived.toml``.

    Raises
    ------
    SpecificationError
        Where that file is wrong; with every mistake.
    """
    own = root / DEFINITIONS_FILE
    return load_definitions(own) if own.is_file() else definitions()


def derive(ask: Ask, definition: Definition) -> pl.DataFrame:
    """Find the events of a definition.

    Parameters
    ----------
    ask : callable
        ``(query, parameters) -> polars.DataFrame``, on the views of a store.
    definition : Definition

    Returns
    -------
    polars.DataFrame
        In the shape of the ``events`` view, by time. ``source`` is the digest of the definition,
        ``attributes`` also name it, and ``line`` is null: nothing recorded them.
    """
    rows = _RULES[definition.id](ask, definition.settings)
    named = pl.col("attributes").str.strip_suffix("}") + pl.when(pl.col("attributes") == "{}").then(
        pl.lit("")
    ).otherwise(pl.lit(","))
    told = rows.select(
        *(pl.col(name).cast(pl.Datetime("us")).dt.replace_time_zone("UTC") for name in ("ts", "ts_low", "ts_high")),
        "entity",
        pl.lit(definition.id).alias("kind"),
        "code",
        pl.lit(None, pl.String).alias("severity"),
        "message",
        pl.lit(definition.id).alias("template"),
        (named + pl.lit(f'"definition":"{definition.id}@{definition.digest}"}}')).alias("attributes"),
        pl.lit(None, pl.Int64).alias("line"),
        pl.lit(definition.digest).alias("source"),
    )
    assert told.schema["ts"] == TS
    return told.select(list(FIXED["events"])).sort("ts", "entity", "code", maintain_order=True)


class Derived:
    """The derived events of one version of a store: each kind is found once, when it is first asked for.

    Parameters
    ----------
    ask : callable
    stated : sequence of Definition
    """

    def __init__(self, ask: Ask, stated: Sequence[Definition]) -> None:
        self._ask = ask
        self.definitions = {definition.id: definition for definition in stated}
        self._found: dict[str, pl.DataFrame] = {}

    def events(self, kind: str | None = None) -> pl.DataFrame:
        """Give the events of a kind; None: of all, by time.

        Raises
        ------
        UnknownNameError
            Where there is no such definition.
        """
        if kind is None:
            return pl.concat([self.events(one) for one in self.definitions]).sort("ts", "entity", "kind", "code")
        if kind not in self.definitions:
            raise UnknownNameError(
                "derived event", kind, list(self.definitions), "Their definitions are in the documentation."
            )
        if kind not in self._found:
            self._found[kind] = derive(self._ask, self.definitions[kind])
        return self._found[kind]

    def beside(self, recorded: pl.DataFrame, kind: str) -> pl.DataFrame:
        """Give the recorded events of a kind, and the derived ones of the same name.

        Raises
        ------
        NothingToDoError
            Where the kind is a derived one, and there is none.
        """
        if kind not in self.definitions:
            return recorded
        told = pl.concat([recorded, self.events(kind)]).sort("ts", "entity", "code", "line", nulls_last=True)
        if told.is_empty():
            definition = self.definitions[kind]
            raise NothingToDoError(
                f"No {kind} in this store. It is told from {'; '.join(definition.inputs)}: {definition.rule}"
            )
        return told

    def counted(self, recorded: pl.DataFrame) -> pl.DataFrame:
        """Add the derived kinds to a table of :func:`workbench.store.eventkinds.event_kinds`."""
        told = self.events().group_by("kind", "code").agg(
            count=pl.len().cast(pl.Int64), entities=pl.col("entity").n_unique().cast(pl.Int64),
            first=pl.col("ts").min(), last=pl.col("ts").max(),
        )  # fmt: skip
        if told.is_empty():
            return recorded
        rules = {definition.id: definition.rule for definition in self.definitions.values()}
        meaning = pl.col("kind").replace_strict(rules, default=None, return_dtype=pl.String)
        more = told.with_columns(noise=pl.lit(0, pl.Int64), meaning=meaning, name=pl.col("kind"))
        both = pl.concat([recorded, more.sort("kind", "code")], how="diagonal_relaxed")
        merged = both.group_by("kind", "code", maintain_order=True).agg(
            pl.col("count", "noise").sum(), pl.col("entities").max(), pl.col("first").min(), pl.col("last").max(),
            pl.exclude("count", "noise", "entities", "first", "last").first(),
        )  # fmt: skip
        return merged.select(recorded.columns).cast(dict(recorded.schema))  # type: ignore[arg-type]
