"""A board as HTML: the same parts inside of the live widget, a file of its own, or a saved notebook."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path

from workbench.analysis.standout import Deviation, StandOut
from workbench.figures.drawing import DARK, LIGHT, STYLE
from workbench.figures.incident import metric_svg, timeline_svg
from workbench.figures.text import compact, escape, shorten
from workbench.panel.lanes import folded
from workbench.timebase import MICROS, format_duration, format_us, to_us
from workbench.widgets.desk import Board

__all__ = ["body_html", "copy_html", "css", "page_html", "strip_data"]

_KEY = (
    ('<path class="line" d="M1 8L8 4L14 9L21 3"/>', "this entity, with its range per pixel"),
    ('<path class="middle" d="M1 6H21"/>', "median of peers"),
    ('<rect class="peer" x="1" y="1" width="20" height="10"/>', "peers 5–95 %"),
    ('<rect class="past" x="1" y="1" width="20" height="10"/>', "own baseline 5–95 %"),
    (
        '<rect class="unsure" x="1" y="0" width="20" height="12"/><path class="mark" d="M15 0V12"/>',
        "incident, and when it may have happened",
    ),
    (
        '<rect class="gap" x="1" y="0" width="20" height="12"/><path class="gapline" d="M3 12L9 0M10 12L16 0"/>',
        "not observed",
    ),
)
Row = tuple[str, str]  # attributes of <tr>, cells


@cache
def css(*, live: bool = False) -> str:
    """Give the style sheet; live: follows the theme of the notebook rather than of the system."""
    own = (Path(__file__).parent / "static" / "board.css").read_text(encoding="utf-8")
    if live:
        dark = f'[data-jp-theme-light="false"] .wb,.vscode-dark .wb{{{DARK}}}'
    else:
        dark = f"@media (prefers-color-scheme:dark){{.wb{{{DARK}}}}}"
    return f".wb{{{LIGHT}}}{dark}{STYLE}{own}"


def body_html(board: Board) -> str:
    """Write everything but the strip on top."""
    span = board.state.window.span
    gaps = [gap for gap in board.overview.gaps if gap[1] > span[0] and gap[0] < span[1]]
    picture = timeline_svg(board.lanes, *span, incident=board.moment, gaps=gaps)
    return "".join(
        (
            _facts(board),
            *(f'<p class="wb-note">{escape(note)}</p>' for note in board.notes),
            f"<h2>What happened</h2>{picture}",
            f'<h2>Metrics of {escape(board.state.entity)}</h2>{_key()}<div class="wb-grid">{"".join(_panels(board))}</div>',
            _standing_out(board),
            _ranked(board),
            _events(board),
            _queries(board),
        )
    )


def page_html(board: Board) -> str:
    """Write one HTML file: no script, no network, light and dark, fit to print."""
    title = f"{board.moment.label}, {format_us(board.moment.ts_us)}"
    strip = timeline_svg(
        board.overview.lanes,
        *board.overview.span,
        incident=board.moment,
        gaps=board.overview.gaps,
        window=board.state.window.span,
    )
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><title>{escape(title)}</title>'
        f"<style>{css()}body{{margin:0;background:var(--wb-bg)}}.wb{{max-width:1100px;margin:0 auto}}</style></head>"
        f'<body class="wb"><div class="wb"><h1>{escape(title)}</h1>'
        f"<details><summary>The day around it</summary>{strip}</details>{body_html(board)}</div></body></html>\n"
    )


def copy_html(board: Board) -> str:
    """Write what stays in a saved notebook: pictures as images and short tables, nothing to load.

    Images rather than inline SVG, since a notebook that is not trusted yet shows only those.
    """
    span = board.state.window.span
    pictures = [timeline_svg(board.lanes, *span, incident=board.moment, alone=True)]
    pictures += _panels(board, alone=True)
    images = [_image(pictures[0], board.moment.label, "100%")]
    images += [_image(one, "metric", "49%") for one in pictures[1:5]]
    top = board.deviations.rows[:8] if board.deviations else ()
    table = _table(_DEVIATION_HEAD, (_deviation_row(row, board, live=False) for row in top)) if top else ""
    return (
        f"<details><summary>{escape(board.moment.label)}, {escape(board.state.window)} UTC: copy for reading without a kernel</summary>"
        f'<p style="overflow-wrap:anywhere">{escape(board.state.permalink)}</p>'
        f"{''.join(images)}{table}"
        f"<p>{escape(board.deviations.luck) if board.deviations else 'Nothing was observed.'}</p></details>"
    )


def strip_data(board: Board) -> dict[str, object]:
    """Give what the strip on top draws: one number per pixel and lane."""
    day = board.overview
    return {
        "t0": day.span[0],
        "t1": day.span[1],
        "incident": [board.moment.low_us, board.moment.ts_us, board.moment.high_us],
        "gaps": [list(gap) for gap in day.gaps],
        "lanes": [
            {"name": lane.name, "own": lane.own.tolist(), "other": lane.other.tolist()}
            for lane in day.lanes
            if lane.own.any() or lane.other.any()
        ],
    }


def _image(svg: str, words: str, width: str) -> str:
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{escape(words)}" style="width:{width}" src="data:image/svg+xml;base64,{data}">'


def _facts(board: Board) -> str:
    state, moment = board.state, board.moment
    base = f"{state.baseline:g}× the window, just before"
    facts = (
        (
            "incident",
            f"{moment.label}, {format_us(moment.ts_us)}{_unsure(moment.ts_us, moment.low_us, moment.high_us)}",
        ),
        ("window", f"{state.window} UTC"),
        ("baseline", base),
        ("peers", f"{len(board.peers.others)} {board.peers.note}"),
        ("store", f"version {state.version}"),
    )
    return (
        '<div class="wb-facts">'
        + "".join(f"<span><b>{name}</b> {escape(value)}</span>" for name, value in facts)
        + "</div>"
    )


def _key() -> str:
    marks = "".join(
        f'<svg class="wb-svg" viewBox="0 0 22 12" aria-hidden="true">{mark}</svg> {words}' for mark, words in _KEY
    )
    return f'<p class="wb-key">{marks}. All times UTC.</p>'


def _panels(board: Board, *, alone: bool = False) -> list[str]:
    scores = {row.metric: row for row in (board.deviations.rows if board.deviations else ())}
    result = []
    for one in board.traces:
        row = scores.get(one.metric.name)
        told = f", z own {_z(row.z_own)}, z peers {_z(row.z_peers)}" if row else ""
        result.append(
            metric_svg(
                one.trace,
                *board.state.window.span,
                title=one.metric.title,
                subtitle=one.subtitle + told,
                incident=board.moment,
                alone=alone,
            )
        )
    return result


def _z(value: float) -> str:
    text = compact(value)
    return f"+{text}" if value > 0 else text


_DEVIATION_HEAD = (
    "metric",
    "entity",
    "#z own",
    "#z past",
    "#z peers",
    "#peers",
    "#value",
    "#usual",
    "unit",
    "since (UTC)",
    "remarks",
)


def _deviation_row(row: Deviation, board: Board, *, live: bool = True) -> Row:
    shown = row.metric in board.state.metrics and row.entity == board.state.entity
    classes = " ".join(name for name, on in (("on", shown), ("quiet", not row.unusual)) if on)
    pick = f' data-pick="metric" data-name="{escape(row.metric)}" tabindex="0"' if live else ""
    attributes = f'{pick} class="{classes}"'
    cells = _cells(
        (row.metric, shorten(row.entity, 44)),
        (_z(row.z_own), _z(row.z_past), _z(row.z_peers), str(row.peers), compact(row.value, 4), compact(row.usual, 4)),
        (
            f"unit?{row.unit}" if row.unit in ("", "/s") else row.unit,
            format_us(row.start_us)[11:] if row.start_us is not None else "–",
            row.state,
        ),
    )
    return attributes, cells


def _cells(first: Sequence[str], numbers: Sequence[str], last: Sequence[str]) -> str:
    return "".join(
        (
            *(f"<td>{escape(value)}</td>" for value in first),
            *(f'<td class="n">{escape(value)}</td>' for value in numbers),
            *(f"<td>{escape(value)}</td>" for value in last),
        )
    )


def _table(head: Sequence[str], rows: Iterable[Row]) -> str:
    """Write a table; a name that begins with # heads a column of numbers."""
    names = "".join(
        f'<th class="n">{escape(name[1:])}</th>' if name[0] == "#" else f"<th>{escape(name)}</th>" for name in head
    )
    lines = "".join(f"<tr{attributes}>{cells}</tr>" for attributes, cells in rows)
    return f'<div class="wb-scroll"><table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table></div>'


def _standing_out(board: Board) -> str:
    found = board.deviations
    if found is None:
        return "<h2>What stands out</h2><p>Nothing was observed of this entity or its host here.</p>"
    until = "up to the incident" if found.window[1] < board.state.window.end_us else "in the whole window"
    heading = f"<h2>What stands out, {until}</h2><p>{escape(found.luck)}</p>"
    table = _table(_DEVIATION_HEAD, (_deviation_row(row, board) for row in found.rows[:60]))
    cut = f"<p>60 of {len(found.rows)} rows; all are in .table('stand_out').</p>" if len(found.rows) > 60 else ""
    return f'{heading}{table}{cut}<details><summary class="wb-dim">How it is reckoned</summary><p>{escape(found.formula)}</p></details>'


def _ranked(board: Board) -> str:
    found: StandOut | None = board.ranked
    if found is None or len(found.rows) < 2:
        return ""
    rows = (_entity_row(row, board) for row in found.rows[:40])
    head = ("entity", "#z own", "#z past", "#z peers", "#value", "remarks")
    return (
        f"<details><summary><b>Entities by {escape(found.rows[0].metric)}</b> "
        f'<span class="wb-dim">({min(40, len(found.rows))} of {len(found.rows)}, farthest first)</span></summary>{_table(head, rows)}</details>'
    )


def _entity_row(row: Deviation, board: Board) -> Row:
    role = "on own" if row.entity == board.state.entity else "" if row.unusual else "quiet"
    attributes = f' data-pick="entity" data-name="{escape(row.entity)}" tabindex="0" class="{role}"'
    numbers = (_z(row.z_own), _z(row.z_past), _z(row.z_peers), compact(row.value, 4))
    return attributes, _cells((row.entity,), numbers, (row.state,))


def _events(board: Board) -> str:
    view = board.views["events"]
    note = f" ({view.note})" if view.note else ""
    heading = f"<h2>Events{escape(note)}</h2>"
    if view.frame.is_empty():
        return heading
    rows = []
    for event in folded(view):
        times = (
            f"<b>×{event['times']}</b> until {format_us(to_us(event['until']))[11:19]} " if event["times"] > 1 else ""
        )
        cells = (
            f'<td class="t">{escape(_time(event["ts"], event["ts_low"], event["ts_high"]))}</td><td>{escape(event["kind"])}</td>'
            f"<td>{escape(event['code'] or '')}</td><td>{escape(shorten(event['entity'] or 'place not known', 44))}</td>"
            f'<td class="m">{times}{escape(shorten(event["message"] or "", 240))}</td>'
        )
        rows.append((f' data-ts="{to_us(event["ts"])}"' + (' class="own"' if event["own"] else ""), cells))
    return heading + _table(("time (UTC)", "kind", "code", "entity", "message"), rows)


def _time(ts: datetime, low: datetime, high: datetime) -> str:
    """Write a time, and how uncertain it is where that is a second or more."""
    return format_us(to_us(ts))[:-1].replace("T", " ")[:23] + _unsure(to_us(ts), to_us(low), to_us(high))


def _unsure(ts_us: int, low_us: int, high_us: int) -> str:
    before, after = (round((b - a) / MICROS) for a, b in ((low_us, ts_us), (ts_us, high_us)))
    if before == after:
        return f" ±{format_duration(before)}" if before else ""
    parts = [f"{sign}{format_duration(size)}" for sign, size in (("−", before), ("+", after)) if size]
    return f" ({' '.join(parts)})"


def _queries(board: Board) -> str:
    parts = "".join(f"<p>{escape(view.name)}</p><pre>{_lines(view.sql)}</pre>" for view in board.views.values())
    code = "".join(f"<pre>{_lines(line)}</pre>" for line in board.code)
    link = f"<p>this view</p><pre>{escape(board.state.permalink)}</pre>"
    return f"<details><summary>Queries and code behind this page</summary>{link}{parts}<p>aligned numbers</p>{code}</details>"


def _lines(text: str) -> str:
    """Escape text of several lines; our own line ends stay."""
    return "\n".join(escape(line) for line in text.split("\n"))
