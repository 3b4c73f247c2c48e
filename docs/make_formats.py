"""Write the list of formats in docs/formats.md from the readers themselves.

Usage: python docs/make_formats.py
"""

from pathlib import Path

from workbench.readers.registry import BUILT_IN, about, readers

PAGE = Path(__file__).with_name("formats.md")
BEGIN, END = "<!-- the readers -->\n", "<!-- end of the readers -->"


def listed() -> str:
    """One row per built-in reader."""
    named = {reader.name: reader for reader in readers()}
    rows = [f"| `{name}` | {about(named[name])} |" for name in BUILT_IN]
    return "\n".join(["| reader | what it reads |", "| --- | --- |", *rows]) + "\n"


def page_with(table: str) -> str:
    """Give the page with the list in its place."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{head}{BEGIN}{table}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page_with(listed()), encoding="utf-8")
