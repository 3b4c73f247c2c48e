"""Many hypothesis files against a store: each item on its own, resumable, with exit code and JUnit."""

from __future__ import annotations

import html
import math
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from workbench.hypotheses.judge import Judged, judge_each
from workbench.hypotheses.spec import Hypothesis
from workbench.hypotheses.toml import read_hypotheses
from workbench.model.findings import findings_json
from workbench.model.provenance import Provenance
from workbench.model.verdict import Verdict

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from workbench.store.store import Store

__all__ = ["BatchItem", "BatchResult", "junit_xml", "run_batch"]

#: Exit codes of a batch.
AS_EXPECTED, NOT_AS_EXPECTED, ITEM_FAILED = 0, 1, 4


@dataclass(frozen=True, eq=False, kw_only=True)
class BatchItem:
    """One claim of a batch, and what became of it.

    Attributes
    ----------
    file : str
        Where the claim stands.
    claim : Hypothesis
    verdict : Verdict or None
        None where the item failed.
    error : str
        What went wrong; empty where nothing did.
    """

    file: str
    claim: Hypothesis
    verdict: Verdict | None = None
    error: str = ""

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one the file expects; True where it expects none."""
        if self.verdict is None:
            return False
        return self.claim.expect is None or self.claim.expect == str(self.verdict.word)


@dataclass(frozen=True, eq=False, kw_only=True)
class BatchResult:
    """What became of every claim of a batch, in the order of the files.

    Attributes
    ----------
    items : tuple of BatchItem
    store_version : str
    seed : int
    provenance : Provenance
    """

    items: tuple[BatchItem, ...]
    store_version: str
    seed: int
    provenance: Provenance

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts of the items that did not fail."""
        return tuple(item.verdict for item in self.items if item.verdict is not None)

    @property
    def failed(self) -> tuple[tuple[str, str], ...]:
        """Name and reason of the items that failed."""
        return tuple((item.claim.name, item.error) for item in self.items if item.verdict is None)

    @property
    def exit_code(self) -> int:
        """0: all as expected; 1: a verdict is not; 4: an item failed (the others are done)."""
        if self.failed:
            return ITEM_FAILED
        return AS_EXPECTED if all(item.as_expected for item in self.items) else NOT_AS_EXPECTED

    def findings(self) -> dict[str, Any]:
        """Give the object that ``judge --json`` writes, ``workbench.findings/1``."""
        return findings_json(self.verdicts, self.store_version, self.seed, len(self.verdicts))

    def table(self) -> pl.DataFrame:
        """One row per item."""
        rows = [
            {
                "file": item.file,
                "name": item.claim.name,
                "verdict": None if item.verdict is None else str(item.verdict.word),
                "reading": None if item.verdict is None else item.verdict.reading_text,
                "expected": item.claim.expect,
                "as_expected": item.as_expected,
                "p": None if item.verdict is None else item.verdict.p,
                "q": None if item.verdict is None else item.verdict.q,
                "ledger_id": None if item.verdict is None else item.verdict.ledger_id,
                "error": item.error or None,
            }
            for item in self.items
        ]
        kinds: dict[str, Any] = {"as_expected": pl.Boolean(), "p": pl.Float64(), "q": pl.Float64()}
        names = ("file", "name", "verdict", "reading", "expected", "as_expected", "p", "q", "ledger_id", "error")
        frame = pl.DataFrame(rows, schema={name: kinds.get(name, pl.String()) for name in names})
        return frame.with_columns(pl.col(pl.Float64).fill_nan(None))

    def plot(self) -> Figure:
        """Draw the effect of every claim that could be tested, with its interval."""
        from workbench.figures.screen import forest_figure

        shown = [v for v in self.verdicts if math.isfinite(v.effect.shift_sd)]
        effects = [[v.effect.shift_sd, v.effect.shift_low, v.effect.shift_high] for v in shown]
        return forest_figure(
            [v.hypothesis or v.signal for v in shown],
            np.array(effects, dtype=np.float64).reshape(-1, 3),
            words=[str(v.word) for v in shown],
            notes=[f"{v.reading_text}; p = {v.p:.2g}, q = {v.q:.2g}" for v in shown],
            outcome=", ".join(dict.fromkeys(v.outcome for v in shown)),
        )

    def _repr_html_(self) -> str:
        frame = self.table()
        head = "".join(f"<th>{name}</th>" for name in frame.columns)
        rows = (
            "".join(f"<td>{'' if cell is None else html.escape(str(cell))}</td>" for cell in row)
            for row in frame.head(200).iter_rows()
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def run_batch(
    files: Sequence[str | Path],
    store: Store,
    *,
    seed: int,
    engine: str = "here",
    progress: Callable[[float, float, str], None] | None = None,
) -> BatchResult:
    """Judge every claim of hypothesis files as one batch.

    All files are checked before anything is judged. Then a claim that fails inside is named and
    the others are judged and written. Run it again after an interruption: what is in the ledger
    returns at once.

    Parameters
    ----------
    files : sequence of path
    store : Store
    seed : int
        0 or more; recorded.
    engine : str
        ``here``, ``processes:N`` or ``dask:ADDRESS``; the answer is the same.
    progress : callable, optional
        Called with claims done, claims in all, and the name of the one just done.

    Returns
    -------
    BatchResult

    Raises
    ------
    SpecificationError
        With every mistake of every file.
    """
    placed = read_hypotheses(files)
    outcomes = judge_each([claim for _, claim in placed], store, seed=seed, engine=engine, progress=progress)
    items = tuple(_item(file, claim, outcome) for (file, claim), outcome in zip(placed, outcomes, strict=True))
    parameters = {"claims": [claim.digest for _, claim in placed]}
    provenance = Provenance(
        function="workbench.batch.run_batch", inputs=f"{store.path}@{store.version}", parameters=parameters, seed=seed
    )
    return BatchResult(items=items, store_version=store.version, seed=seed, provenance=provenance)


def _item(file: str, claim: Hypothesis, outcome: Judged) -> BatchItem:
    if isinstance(outcome, Verdict):
        return BatchItem(file=file, claim=claim, verdict=outcome)
    return BatchItem(file=file, claim=claim, error=f"{type(outcome).__name__}: {outcome}")


def junit_xml(result: BatchResult) -> str:
    r"""Write a batch as JUnit XML, one case per claim.

    A verdict that is not the expected one is a failure, an item that failed is an error. Text from
    claims and logs is escaped, and characters that XML cannot hold are written out.

    Examples
    --------
    >>> claim = Hypothesis(name="<b>", when={"level": "gpu.power_w"}, then="xid")
    >>> result = BatchResult(items=(BatchItem(file="a.toml", claim=claim, error="no\x00disk"),), store_version="1", seed=7,
    ...                      provenance=Provenance(function="run_batch", inputs="case@1"))
    >>> print(junit_xml(result))  # doctest: +ELLIPSIS
    <?xml version='1.0' encoding='utf-8'?>
    <testsuites tests="1" failures="0" errors="1">
      <testsuite name="a.toml" tests="1" failures="0" errors="1">
        <testcase name="&lt;b&gt;" classname="a.toml">
          <error message="no\x00disk">no\x00disk</error>
    ...
    """
    root = ET.Element("testsuites", _counts(result.items))
    for file in dict.fromkeys(item.file for item in result.items):
        items = [item for item in result.items if item.file == file]
        suite = ET.SubElement(root, "testsuite", {"name": _legal(file), **_counts(items)})
        for item in items:
            _add_case(suite, item)
    ET.indent(root)
    return "<?xml version='1.0' encoding='utf-8'?>\n" + ET.tostring(root, encoding="unicode") + "\n"


def _counts(items: Sequence[BatchItem]) -> dict[str, str]:
    errors = sum(item.verdict is None for item in items)
    failures = sum(not item.as_expected for item in items) - errors
    return {"tests": str(len(items)), "failures": str(failures), "errors": str(errors)}


def _add_case(suite: ET.Element, item: BatchItem) -> None:
    case = ET.SubElement(suite, "testcase", {"name": _legal(item.claim.name), "classname": _legal(item.file)})
    if item.verdict is None:
        ET.SubElement(case, "error", {"message": _legal(item.error)[:200]}).text = _legal(item.error)
        return
    verdict = item.verdict
    if not item.as_expected:
        message = f"{verdict.word} ({verdict.reading_text}); expected {item.claim.expect}"
        ET.SubElement(case, "failure", {"message": _legal(message)}).text = _legal(verdict.sentence)
    lines = [
        verdict.sentence,
        f"verdict {verdict.word} ({verdict.reading_text})",
        f"p {verdict.p:.4g}, q {verdict.q:.4g} of {verdict.tested} tested, U {verdict.bound_u:.4g}",
        f"episodes {verdict.episodes}, incidents {verdict.incidents}, ledger {verdict.ledger_id}",
        *(f"{check}: {state}" for check, state in verdict.checks.items()),
    ]
    ET.SubElement(case, "system-out").text = _legal("\n".join(lines))


def _legal(text: str) -> str:
    """Write out what XML 1.0 cannot hold, even escaped: control characters and halves of pairs."""
    return "".join(c if _in_xml(ord(c)) else f"\\x{ord(c):02x}" for c in text)


def _in_xml(code: int) -> bool:
    return code in (0x9, 0xA, 0xD) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
