"""Draw docs/pictures/architecture.svg: the road on the left, the floors on the right."""

from pathlib import Path

ROAD = [
    ("raw files", "dumps as they come", ""),
    ("Batch", "rows + skips + rejects = records", "readers/"),
    ("store", "Delta tables, SQL views, versions", "store/"),
    ("Panel, Fleet", "entity x metric x time, gaps as NaN", "panel/"),
    ("Result", "estimate, null band, p", "analysis/"),
    ("Verdict", "SUPPORTED, REFUTED, UNDECIDED", "analysis/ hypotheses/"),
    ("ledger entry", "every try, error rate of the whole", "hypotheses/"),
    ("write-up", "one file, offline, re-runnable", "reports/"),
]
FLOORS = [
    ("cli", "arguments, printing, exit codes"),
    ("batch", "many hypotheses, resumable"),
    ("widgets   reports", "linked views; self-contained pages"),
    ("hypotheses", "spec, judge, ledger"),
    ("analysis", "screen, checks, decide, lag, coincidence"),
    ("panel", "select, align, rates"),
    ("store", "ingest, identity, Delta, SQL"),
    ("readers   simulator", "one format each; planted truth"),
    ("model", "the types that stations pass on"),
    ("figures   kernels   execution", "arrays only; tasks over workers"),
    ("timebase", "UTC microseconds, stated zones"),
    ("errors", "the error tree"),
]


def text(x: int, y: int, words: str, size: int = 13, style: str = "") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" {style}>{words}</text>'


def draw() -> str:
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 640" font-family="sans-serif" fill="#1b1b1b">',
        '<rect width="860" height="640" fill="#ffffff"/>',
        text(30, 36, "One road", 17, 'font-weight="bold"'),
        text(470, 36, "Floors: imports go down only", 17, 'font-weight="bold"'),
    ]
    for index, (name, what, where) in enumerate(ROAD):
        y = 56 + index * 72
        parts.append(f'<rect x="30" y="{y}" width="300" height="48" rx="6" fill="#e8f1fa" stroke="#0072b2"/>')
        parts += [text(44, y + 20, name, 14, 'font-weight="bold"'), text(44, y + 38, what, 12, 'fill="#444"')]
        parts.append(text(342, y + 28, where, 11, 'fill="#0072b2"'))
        if index:
            parts.append(
                f'<path d="M180 {y - 24} v18 m-5 -6 l5 7 l5 -7" fill="none" stroke="#0072b2" stroke-width="1.6"/>'
            )
    for index, (name, what) in enumerate(FLOORS):
        y = 56 + index * 47
        parts.append(f'<rect x="470" y="{y}" width="360" height="41" rx="4" fill="#fdf3e3" stroke="#b26a00"/>')
        parts += [text(484, y + 19, name, 13, 'font-weight="bold"'), text(484, y + 35, what, 11, 'fill="#444"')]
        parts.append(text(806, y + 27, str(len(FLOORS) - 1 - index), 12, 'fill="#b26a00" text-anchor="end"'))
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    Path(__file__).with_name("pictures").joinpath("architecture.svg").write_text(draw(), encoding="utf-8")
