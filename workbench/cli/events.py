"""events: which kinds there are, how often, what they mean; bursts, what follows what, what is noise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from workbench.cli.common import JsonOption, StoreOption, existing_store, show, write_json
from workbench.errors import UsageError
from workbench.store.eventkinds import marked, noise_of
from workbench.store.reconcile import reconciled
from workbench.store.store import Store
from workbench.store.stories import told_of

__all__ = ["events"]

_KINDS = ["kind", "code", "count", "noise", "per_1000_entity_days", "role", "name", "meaning", "first", "last"]
_EVENTS = ["ts", "entity", "kind", "code", "name", "noise", "told_by", "message"]
_BURSTS = ["ts", "last", "entity", "kind", "code", "count", "name", "noise", "message"]


def events(
    store: StoreOption,
    selector: Annotated[
        str | None, typer.Argument(help="kind[:code,code][@glob]; without it: kinds and counts.")
    ] = None,
    bursts: Annotated[
        float | None,
        typer.Option(min=0.0, help="One row for events of one entity, kind and code within so many seconds."),
    ] = None,
    follows: Annotated[bool, typer.Option("--follows", help="Which events follow another, and by which rule.")] = False,
    sources: Annotated[
        bool,
        typer.Option("--sources", help="Each Xid once: which of logs, exporter and BMC tell of it, and which do not."),
    ] = False,
    noise: Annotated[Path | None, typer.Option(help="TOML file of more noise rules ([[noise]]).")] = None,
    json: JsonOption = None,
) -> None:
    """List event kinds with counts, base rates and meaning; or events, bursts, or what follows what."""
    if follows + sources + (bursts is not None) > 1:
        raise UsageError("--follows, --sources and --bursts answer different questions; ask one at a time.")
    source = existing_store(store)
    if sources:
        told = reconciled(source)
        if not write_json(told.to_dicts(), json):
            show(told.drop("ts_low", "ts_high"))
        return
    rules = noise_of(source.path, noise)
    if selector is None and bursts is None and not follows:
        answer, shown = source.event_kinds(derived=True, noise=noise), _KINDS
    elif follows:
        answer, shown = (
            _following(source, selector),
            ["ts", "entity", "kind", "code", "after_kind", "after_code", "after_entity", "lag_s", "rule"],
        )
    elif bursts is not None:
        answer, shown = marked(source.bursts(selector, gap_s=bursts), rules), _BURSTS
    else:
        told = marked(told_of(source, selector), rules)
        answer, shown = told.with_columns(told_by=pl.col("sources").list.len().cast(pl.Int64)), _EVENTS
    if not write_json(answer.to_dicts(), json):
        show(answer.select(shown))


def _following(source: Store, selector: str | None) -> pl.DataFrame:
    """Give what follows another event, of the events that a selector means; the others are looked at, too."""
    told = source.follows()
    if selector is None:
        return told
    wanted = source.events(selector).select("entity", "kind", "code").unique()
    return told.join(wanted, on=["entity", "kind", "code"], how="semi", nulls_equal=True)
