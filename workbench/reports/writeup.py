"""One self-contained page on an incident and all that was judged."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import ResourceError, UsageError
from workbench.figures.incident import Moment, metric_svg, timeline_svg
from workbench.model.incident import Incident
from workbench.model.verdict import Verdict, Word
from workbench.panel.beside import beside
from workbench.panel.lanes import event_counts, job_rows, lanes, moment_of
from workbench.panel.peers import peers
from workbench.reports.evidence import in_detail
from workbench.reports.facts import collect, judged_already, span_around
from workbench.reports.redact import Pseudonyms
from workbench.reports.render import html_page, markdown_page, sealed
from workbench.timebase import to_us

if TYPE_CHECKING:
    from workbench.analysis.screen import Screen
    from workbench.store.store import Store

__all__ = ["MOST_BYTES", "write_up"]

#: A page larger than this opens slowly everywhere.
MOST_BYTES = 8_000_000
_CELLS, _MOST_PICTURES = 240, 6


def write_up(
    store: Store,
    *,
    incident: Incident | None = None,
    verdicts: Sequence[Verdict] = (),
    screen: Screen | None = None,
    to: str | Path,
    redact: bool = False,
) -> Path:
    """Write one file that tells what happened, what was tested, and what speaks for and against.

    The file stands alone: no network, no script that runs, light and dark, fit to print. The same
    store and verdicts give the same bytes.

    Parameters
    ----------
    store : Store
    incident : Incident or None
        Gives the timeline.
    verdicts : sequence of Verdict
        From ``wb.judge``.
    screen : Screen or None
        From ``wb.screen``: everything that it tested is told, flagged or not. Where neither
        verdicts nor a screen is given, the verdicts of the ledger are taken.
    to : str or Path
        ``.html`` or ``.md``.
    redact : bool
        Replace hosts, users, jobs and devices by stand-ins, the same one everywhere; best effort
        over the names that the store knows (see :class:`workbench.reports.redact.Pseudonyms`).

    Returns
    -------
    Path
        The file. ``workbench report --verify FILE`` tells whether it is unaltered.

    Raises
    ------
    UsageError
        Where the name of the file ends in neither.
    ResourceError
        Where the page would be larger than 8 MB; nothing is written then.
    """
    path = Path(to)
    if path.suffix.lower() not in (".html", ".htm", ".md"):
        raise UsageError(f"'{path.name}' ends in '{path.suffix}'; a write-up is .html or .md.")
    told = [*verdicts, *(screen.verdicts if screen is not None else ())] or judged_already(store)
    names = Pseudonyms.of(store) if redact else None
    facts = collect(store, incident, told)
    if names is not None:
        facts = names.over(facts)
    if path.suffix.lower() == ".md":
        page = markdown_page(facts)
    else:
        page = html_page(facts, _pictures(store, incident, told, names))
    _write(path, sealed(page).encode())
    return path


def _write(path: Path, content: bytes) -> None:
    if len(content) > MOST_BYTES:
        size = len(content) / 1e6
        raise ResourceError(f"The write-up would be {size:.1f} MB; the limit is 8 MB. Hand in fewer verdicts.")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def _pictures(
    store: Store, incident: Incident | None, verdicts: Sequence[Verdict], names: Pseudonyms | None
) -> dict[str, Any]:
    if incident is None:
        return {"timeline": "", "metrics": []}
    span, moment = span_around(incident), moment_of(incident)
    say = names.text if names is not None else str
    moment = replace(moment, label=say(moment.label))
    jobs = job_rows(store, incident, span)
    rows = [
        replace(
            lane,
            tips={cell: say(tip) for cell, tip in lane.tips.items()},
            bars=[replace(bar, label=say(bar.label)) for bar in lane.bars],
        )
        for lane in lanes(event_counts(store, incident, span, _CELLS), jobs, span, _CELLS)
    ]
    return {
        "timeline": timeline_svg(rows, *span, incident=moment),
        "metrics": _metrics(store, incident, verdicts, moment),
    }


def _metrics(store: Store, incident: Incident, verdicts: Sequence[Verdict], moment: Moment) -> list[str]:
    """Draw the metrics that verdicts speak of, SUPPORTED ones first, around the incident."""
    known = set(store.catalog()["metric"].to_list())
    ordered = sorted(in_detail(verdicts), key=lambda verdict: verdict.word is not Word.SUPPORTED)
    chosen = list(dict.fromkeys(verdict.signal for verdict in ordered if verdict.signal in known))[:_MOST_PICTURES]
    if not chosen:
        return []
    at, span = to_us(incident.ts), span_around(incident)
    entity = incident.entity if incident.host is None or "/" in incident.entity else incident.host
    group = peers(store, entity, at).group
    before = to_us(incident.ts_low)
    baseline = (span[0] - 4 * (before - span[0]), span[0])
    traced = beside(store, chosen, entity, group=group, at_us=at, span=span, baseline=baseline)
    return [
        metric_svg(one.trace, *span, title=one.metric.title, subtitle=one.subtitle, incident=moment) for one in traced
    ]
