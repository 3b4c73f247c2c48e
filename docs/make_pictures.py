"""Draw docs/pictures/first_incident.svg from the demo data.

Usage: python docs/make_pictures.py [STORE]     (STORE: a store that holds the demo data; else it is made anew)

Everything in the picture is what ``wb.explore`` shows of one incident of the demo; the same data
give the same bytes.
"""

import re
import sys
import tempfile
from pathlib import Path

import workbench as wb
from workbench.figures.drawing import picture, text
from workbench.figures.incident import metric_svg, timeline_svg
from workbench.widgets.explore import Explorer

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "data_samples" / "first_incident"
OUT = ROOT / "docs" / "pictures" / "first_incident.svg"
WIDTH, EDGE = 980.0, 10.0
METRICS = ["gpu.ecc_sbe_total", "gpu.temperature_c", "gpu.power_w", "gpu.memory_used_mib"]


def placed(svg: str, x: float, y: float, width: float) -> tuple[str, float]:
    """Put a picture at a place within another; give it and its height there."""
    wide, tall = (float(size) for size in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())
    height = tall * width / wide
    return svg.replace('width="100%"', f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"', 1), height


def drawn(view: Explorer) -> str:
    """Put events, metrics and the first lines of what stands out into one picture."""
    board, span = view.board, view.window.span
    parts, y = [], EDGE
    events, height = placed(timeline_svg(board.lanes, *span, incident=board.moment), EDGE, y, WIDTH - 2 * EDGE)
    parts.append(events)
    y += height + 12
    half = (WIDTH - 3 * EDGE) / 2
    scores = {row.metric: row for row in board.deviations.rows}
    for at, one in enumerate(board.traces):
        row = scores[one.metric.name]
        told = f"{one.subtitle}, z own {row.z_own:+.1f}, z peers {row.z_peers:+.1f}"
        panel = metric_svg(one.trace, *span, title=one.metric.title, subtitle=told, incident=board.moment)
        piece, height = placed(panel, EDGE + (at % 2) * (half + EDGE), y, half)
        parts.append(piece)
        y += height + 6 if at % 2 else 0
    words = (
        "Line: this GPU. Dashed and grey: its peers in the same job, median and 5-95 %. Orange band: its own baseline. "
        "Hatched: not observed. Orange line: the loss."
    )
    parts.append(text(EDGE, y + 16, words, "dim"))
    return picture("".join(parts), width=WIDTH, height=y + 26, title=f"One incident: {board.moment.label}", alone=True)


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        store = wb.open(sys.argv[1] if len(sys.argv) > 1 else Path(folder) / "store")
        if store.version == "0":
            store.ingest(DEMO / "dumps", mapping=DEMO / "mapping.toml")
        incident = store.incidents("xid:48,94,95")[3]
        view = wb.explore(incident, store, metrics=METRICS)
        OUT.write_text(drawn(view) + "\n", encoding="utf-8")
    print(f"written: {OUT.relative_to(ROOT)} ({OUT.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    main()
