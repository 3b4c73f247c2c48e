"""Tell whether a write-up is as it was written."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import NothingToDoError, UsageError
from workbench.reports.render import PENDING

__all__ = ["Verification", "verify"]

# The digest is looked for only where a write-up has it: at its very beginning.
_HTML = re.compile(
    rb'\A<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    rb'<meta name="workbench-digest" content="sha256:([0-9a-f]{64})">'
)
_MARKDOWN = re.compile(rb"\A<!-- workbench-digest: sha256:([0-9a-f]{64}) -->\n")
_BLOCK_HTML = re.compile(rb'<script type="application/json" id="workbench-facts">(\{[^<]*\})</script>')
_BLOCK_MARKDOWN = re.compile(rb"\n```json\n(\{[^\n]*\})\n```\n?\Z")


@dataclass(frozen=True, eq=False, kw_only=True)
class Verification:
    """Whether a write-up is unaltered, and what it says for machines.

    Attributes
    ----------
    path : Path
    unaltered : bool
        The digest in the file is that of the file, and the data in it can be read.
    written, found : str
        Digest that stands in the file; digest of the file as it is.
    facts : mapping
        What the page says, as plain values; empty where it cannot be read.
    """

    path: Path
    unaltered: bool
    written: str
    found: str
    facts: dict[str, Any]

    @property
    def sentence(self) -> str:
        """The answer in words."""
        if self.unaltered:
            store = self.facts.get("store", {})
            return (
                f"{self.path.name} is as it was written (sha256 {self.found[:16]}…), from store {store.get('name')} "
                f"version {store.get('version')}, by workbench {self.facts.get('versions', {}).get('workbench')}."
            )
        if self.written != self.found:
            return (
                f"{self.path.name} is not as it was written: its digest is {self.found[:16]}…, and {self.written[:16]}… "
                "stands in it. Write it again with workbench report."
            )
        return f"{self.path.name} holds no data that can be read. Write it again with workbench report."


def verify(path: str | Path) -> Verification:
    """Check a write-up, HTML or Markdown.

    The digest guards against accidents and careless edits. Who means to deceive can compute a new
    one: keep the digest elsewhere if that matters.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    NothingToDoError
        Where there is no such file.
    UsageError
        Where the file is no write-up of workbench.
    """
    file = Path(path)
    if not file.is_file():
        raise NothingToDoError(f"No file {file}; name a write-up, such as case-042.html.")
    content = file.read_bytes()
    match = _HTML.match(content) or _MARKDOWN.match(content)
    if match is None:
        raise UsageError(
            f"{file.name} does not begin as a write-up of workbench does; it may be of another tool, or cut."
        )
    written = match[1].decode()
    blank = content[: match.start(1)] + PENDING.encode() + content[match.end(1) :]
    found = hashlib.sha256(blank).hexdigest()
    facts = _facts(content)
    return Verification(
        path=file, unaltered=written == found and bool(facts), written=written, found=found, facts=facts
    )


def _facts(content: bytes) -> dict[str, Any]:
    block = _BLOCK_HTML.search(content) or _BLOCK_MARKDOWN.search(content)
    if block is None:
        return {}
    try:
        facts = json.loads(block[1])
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}
