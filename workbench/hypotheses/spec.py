"""A claim as data: what moves before what, and how it is to be judged; nothing is read yet."""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from workbench.errors import SpecificationError, UsageError, nearest
from workbench.hypotheses.fields import JOB_AGE, Problem, examine, signal_fields
from workbench.hypotheses.lines import HEADER, raw_hypotheses
from workbench.model.derived import definitions
from workbench.model.logtemplates import TEMPLATE
from workbench.model.selector import Selector
from workbench.model.signal import Signal
from workbench.timebase import parse_duration

if TYPE_CHECKING:
    import polars as pl

    from workbench.store.templates import Templates

__all__ = ["Hypothesis", "Names", "read_file"]

_SCHEMA = "workbench.hypothesis/1"
#: What a claim is called and hoped to be says nothing about what is tested.
_NOT_TESTED = ("name", "text", "expect", "family")


class Names(Protocol):
    """What is asked of a store to check the names in a claim."""

    def catalog(self, pattern: str = "*") -> pl.DataFrame:
        """Give the metrics, in a column ``metric``."""
        ...

    def event_kinds(self) -> pl.DataFrame:
        """Give the kinds of events, in a column ``kind``."""
        ...

    def templates(self) -> Templates:
        """Give the templates of log lines; asked only where a claim names one."""
        ...


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A claim: ``when`` moves within ``within`` before ``then``.

    Frozen, with value equality. All fields are brought to one normal form and checked together;
    every mistake is reported at once. The reference of the file format is ``docs/hypotheses.md``.

    Parameters
    ----------
    name : str
        One line.
    when : Signal or Selector
        ``wb.level``, ``wb.rate``, ``wb.change`` with or without a threshold, or ``wb.event``.
    then : Selector or str
        The outcome.
    within : str, float or timedelta
        How long before the outcome to look; kept in its shortest spelling. Numbers are seconds.
    guard : str, float, timedelta or None
        Time before the recorded outcome that is not looked at. None, or a shorter one: the
        recording uncertainty of the outcome, the clock uncertainty and the sampling interval of
        the signal, added up.
    adjust_for : iterable of str
        Metric ids and ``job.age``: confounders to match and residualise on, beside those that
        were recorded for every claim (load, temperature, job, rack).
    controls : iterable of str
        Controls that must be done, by the names of ``docs/hypotheses.md``.
    smallest_effect : float or None
        Standard deviations; what REFUTED must exclude. None: a third.
    direction : str
        ``up``, ``down`` or ``either``.
    scope : str or None
        Kind of entity that the signal is measured on. None: as the catalogue says.
    expect : str or None
        ``SUPPORTED``, ``REFUTED`` or ``UNDECIDED``: what a batch checks the verdict against.
    family : str or None
        Claims that share this name are variants of one, beside those with the same signal and
        outcome, which always are.
    text : str
        Anything that a reader should know.

    Raises
    ------
    SpecificationError
        With every mistake.

    Examples
    --------
    >>> import workbench as wb
    >>> claim = wb.Hypothesis(name="ecc burst precedes loss", when=wb.rate("gpu.ecc_sbe_total", per="1m") > 5,
    ...                       then=wb.event("xid", codes=[48, 94]), within="60m", controls=["time_shift"])
    >>> print(claim)
    ecc burst precedes loss: rate of gpu.ecc_sbe_total per 1m > 5, within 1h before xid:48,94; controls time_shift
    >>> wb.Hypothesis.from_toml(claim.to_toml()) == claim
    True
    """

    name: str
    when: Signal
    then: Selector
    within: str = "2h"
    guard: str | None = None
    adjust_for: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    smallest_effect: float | None = None
    direction: str = "either"
    scope: str | None = None
    expect: str | None = None
    family: str | None = None
    text: str = ""

    if TYPE_CHECKING:  # what may be given is wider than what is kept; one parameter per key of a file

        def __init__(  # noqa: PLR0913
            self,
            *,
            name: str,
            when: Signal | Selector,
            then: Selector | str,
            within: str | float | timedelta = "2h",
            guard: str | float | timedelta | None = None,
            adjust_for: Iterable[str] = (),
            controls: Iterable[str] = (),
            smallest_effect: float | None = None,
            direction: str = "either",
            scope: str | None = None,
            expect: str | None = None,
            family: str | None = None,
            text: str = "",
        ) -> None: ...

    def __post_init__(self) -> None:
        values, problems = examine({f.name: getattr(self, f.name) for f in fields(self)})
        if problems:
            raise SpecificationError(f"hypothesis {self.name!r}", [problem.text for problem in problems])
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @property
    def within_s(self) -> float:
        """Seconds before the outcome that are looked at."""
        return parse_duration(self.within)

    @property
    def guard_s(self) -> float | None:
        """Seconds of the guard; None: automatic."""
        return None if self.guard is None else parse_duration(self.guard)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical form: what is tested, and nothing of what it is called."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()

    def canonical(self) -> str:
        """Write what is tested as canonical JSON: sorted keys, no blanks, durations in seconds.

        ``name``, ``text``, ``expect`` and ``family`` are left out: renaming a claim, or hoping
        for another answer, is no new try.
        """
        table: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _NOT_TESTED}
        signal = self.when
        name = _ordered(Selector.parse(signal.name)) if signal.kind == "event" else signal.name
        table["when"] = {
            "kind": signal.kind,
            "name": name,
            "per_s": signal.per_s,
            "above": signal.above,
            "below": signal.below,
        }
        table["then"] = _ordered(self.then)
        table["within_s"], table["guard_s"] = self.within_s, self.guard_s
        del table["within"], table["guard"]
        return json.dumps({"schema": _SCHEMA, **table}, sort_keys=True, separators=(",", ":"), allow_nan=False)

    def to_toml(self) -> str:
        """Write the claim as one ``[[hypothesis]]`` table; fields at their default are left out."""
        lines = [f"[[{HEADER}]]"]
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                lines.append(f"{field.name} = {_toml(signal_fields(value) if field.name == 'when' else value)}")
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, source: str | Path) -> Self:
        """Read the one claim of a TOML text or file.

        Parameters
        ----------
        source : str or pathlib.Path
            A text holds a line break or ``=``; anything else is a path.

        Raises
        ------
        SpecificationError
            With every mistake and its line.
        UsageError
            Where the file cannot be read, or holds several claims.
        """
        is_text = isinstance(source, str) and ("\n" in source or "=" in source)
        name = "the TOML text" if is_text else str(source)
        claims, problems = cls.read_all(str(source) if is_text else read_file(Path(source)))
        if problems:
            raise SpecificationError(name, [f"line {line}: {text}" for line, text in problems])
        if len(claims) != 1:
            raise UsageError(
                f"{name} holds {len(claims)} hypotheses; read all of them with workbench.hypotheses.toml.load_hypotheses."
            )
        return claims[0]

    @classmethod
    def read_all(cls, text: str, *, store: Names | None = None) -> tuple[list[Self], list[tuple[int, str]]]:
        """Read every claim of a TOML text that is right, and give line and text of every mistake.

        With a ``store``, names that it does not know are mistakes too.
        """
        tables, mistakes = raw_hypotheses(text)
        claims: list[Self] = []
        for table in tables:
            values, problems = examine(table.values)
            problems += _bare_numbers(table.values)
            problems += _unknown_names(values, store) if store is not None else []
            mistakes += [(table.line_of(problem.key), problem.text) for problem in problems]
            if not problems:
                claims.append(cls(**values))
        return claims, sorted(mistakes)

    def check_against(self, store: Names) -> None:
        """Check that the store knows every metric and event kind of this claim.

        Raises
        ------
        SpecificationError
            With every unknown name and the nearest known ones.
        """
        problems = _unknown_names({f.name: getattr(self, f.name) for f in fields(self)}, store)
        if problems:
            raise SpecificationError(f"hypothesis {self.name!r}", [problem.text for problem in problems])

    def __str__(self) -> str:
        parts = [f"{self.name}: {self.when}, within {self.within} before {self.then}"]
        parts += [f"direction {self.direction}"] if self.direction != "either" else []
        parts += [f"scope {self.scope}"] if self.scope else []
        parts += [f"guard {self.guard}"] if self.guard else []
        parts += [f"adjusted for {', '.join(self.adjust_for)}"] if self.adjust_for else []
        parts += [f"controls {', '.join(self.controls)}"] if self.controls else []
        parts += [f"smallest effect {self.smallest_effect:g} sd"] if self.smallest_effect else []
        return "; ".join(parts) + (f"; expected {self.expect}" if self.expect else "")

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self))}</p><pre>{html.escape(self.to_toml())}</pre>"


def read_file(path: Path) -> str:
    """Read a hypothesis file.

    Raises
    ------
    UsageError
        Where it is not there, cannot be read or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"Hypothesis file {path} is not UTF-8 (byte {error.start}); save it as UTF-8.") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"Cannot read hypothesis file {path}: {reason}.") from None


def _ordered(selector: Selector) -> str:
    return str(Selector(selector.kind, tuple(sorted(set(selector.codes))), selector.where))


def _unknown_names(values: Mapping[str, Any], store: Names) -> list[Problem]:
    """List the names among ``values`` that the store does not know, each with the nearest ones."""
    metrics: list[str] = store.catalog()["metric"].to_list()
    kinds: list[str] = [*store.event_kinds()["kind"], *(definition.id for definition in definitions())]
    signal, outcome = values.get("when"), values.get("then")
    wanted = [("adjust_for", name) for name in values.get("adjust_for", ()) if name != JOB_AGE]
    events = [("then", outcome.kind)] if outcome is not None else []
    if signal is not None and signal.kind == "event":
        events.insert(0, ("when.event", Selector.parse(signal.name).kind))
    elif signal is not None:
        wanted.insert(0, (f"when.{signal.kind}", signal.name))
    problems = [_unknown(key, "metric", name, metrics) for key, name in wanted if name not in metrics]
    problems += [
        _unknown(key, "event kind", name, kinds) for key, name in events if name not in kinds and name != TEMPLATE
    ]
    return problems + _unknown_templates(signal, outcome, store)


def _unknown_templates(signal: Signal | None, outcome: Selector | None, store: Names) -> list[Problem]:
    meant = [("when.event", Selector.parse(signal.name))] if signal is not None and signal.kind == "event" else []
    meant += [("then", outcome)] if outcome is not None else []
    problems = []
    for key, selector in meant:
        if selector.kind == TEMPLATE:
            known = store.templates().table()["template_id"].to_list()
            strange = [c for c in selector.codes if not any(Selector(TEMPLATE, (c,)).matches_code(k) for k in known)]
            problems += [_unknown(key, "template of log lines", code, known) for code in strange]
    return problems


def _unknown(key: str, what: str, name: str, known: Iterable[str]) -> Problem:
    names = sorted(set(known))
    near = nearest(name, names)
    hint = f"did you mean {', '.join(near)}?" if near else f"the store knows {len(names)}"
    return Problem(key, f"no {what} '{name}' in the store; {hint}")


def _bare_numbers(values: Any) -> list[Problem]:
    """Refuse durations without a unit: in a file, nobody can tell what they were meant to be."""
    when = values.get("when")
    places = [(key, values.get(key)) for key in ("within", "guard")]
    places += [(f"when.{key}", when.get(key)) for key in ("per", "over")] if isinstance(when, dict) else []
    return [
        Problem(key, f"'{key}' is {value!r} without a unit; expected a duration such as {value:g}s")
        for key, value in places
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
    ]


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
