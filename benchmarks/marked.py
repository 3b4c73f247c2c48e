"""Write measured tables into a page, between marks that stay."""

from pathlib import Path

__all__ = ["write_between"]


def write_between(page: Path, name: str, lines: list[str]) -> None:
    """Replace what stands between ``<!-- measured: name -->`` and ``<!-- end -->`` after it."""
    text = page.read_text()
    head, mark, rest = text.partition(f"<!-- measured: {name} -->")
    _, end, tail = rest.partition("<!-- end -->")
    if not mark or not end:
        raise ValueError(f"{page} has no marks for '{name}'")
    page.write_text("\n".join([head + mark, "", *lines, "", end + tail]))
