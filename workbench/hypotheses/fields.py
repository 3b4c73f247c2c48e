"""The fields of a hypothesis one by one: what each may hold, and every mistake in what it holds.

The same checks serve Python calls and TOML files. They never stop at the first mistake: each
gives the value in its one normal form and the problems that it found on the way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from workbench.errors import SpecificationError, UsageError, nearest
from workbench.model.selector import Selector
from workbench.model.signal import Signal
from workbench.timebase import format_duration, parse_duration

__all__ = ["CONTROLS", "DIRECTIONS", "FIELDS", "JOB_AGE", "Problem", "WORDS", "examine", "expected", "signal_fields"]

#: Controls that a claim may ask for, and the check of the verdict that each reports as.
CONTROLS = {
    "crossover": "crossover",
    "guard": "guard",
    "healthy_twin": "healthy_twin",
    "leave_one_out": "leave_one_out",
    "placebo": "placebo",
    "proxy": "proxy",
    "reversed_time": "reversed_time",
    "time_shift": "placebo",
}
DIRECTIONS = ("up", "down", "either")
WORDS = ("SUPPORTED", "REFUTED", "UNDECIDED")
#: The one confounder that is no metric: seconds since the job on the entity started.
JOB_AGE = "job.age"

_SCOPE = re.compile(r"[a-z][a-z0-9_]*")
_SIGNAL_KINDS = {"level": (), "rate": ("per",), "change": ("over",), "event": ()}
_WHEN_FORM = '{ rate = "gpu.ecc_sbe_total", per = "1m", above = 5 } (or level, change, event)'


class Problem(NamedTuple):
    """One mistake: the dotted key it stands at, and what was found and expected there."""

    key: str
    text: str


def expected(found: str, known: Iterable[str]) -> str:
    """Say what was expected in place of ``found``, and which right name is nearest.

    Examples
    --------
    >>> expected("sideways", ("up", "down"))
    'expected one of up, down'
    >>> expected("dwon", ("up", "down"))
    'expected one of up, down; did you mean down?'
    """
    names = list(known)
    near = nearest(found, names, 1)
    return f"expected one of {', '.join(names)}" + (f"; did you mean {near[0]}?" if near else "")


def examine(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Bring every field to its normal form and collect every mistake.

    Parameters
    ----------
    given : mapping
        Field names to Python objects or to what a TOML file holds; absent fields take their
        defaults.

    Returns
    -------
    values : dict
        Normal forms of the fields that are right.
    problems : list of Problem
        Empty where the hypothesis is well formed.

    Examples
    --------
    >>> values, problems = examine({"name": "a", "when": {"level": "gpu.power_w"}, "then": "xid", "within": "60m"})
    >>> values["within"], problems
    ('1h', [])
    >>> for problem in examine({"name": "a", "wen": 1, "then": "XID"})[1]:
    ...     print(problem.key, "|", problem.text)
    wen | unknown key 'wen'; did you mean when?
    when | 'when' is missing; expected { rate = "gpu.ecc_sbe_total", per = "1m", above = 5 } (or level, change, event)
    then | 'XID' is no event kind: lower-case letters, digits, dots, such as xid
    """
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for key in given:
        if key not in FIELDS:
            near = nearest(key, FIELDS, 1)
            hint = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(FIELDS)}"
            problems.append(Problem(key, f"unknown key {key!r}; {hint}"))
    for key, check in FIELDS.items():
        if given.get(key) is None:
            if key in _REQUIRED:
                problems.append(Problem(key, f"'{key}' is missing; expected {_REQUIRED[key]}"))
            else:
                values[key] = _DEFAULTS[key]
            continue
        value, found = check(key, given[key])
        problems += found
        if not found:
            values[key] = value
    return values, problems + _contradictions(values)


def signal_fields(signal: Signal) -> dict[str, Any]:
    """Write a signal as the table that a file holds; the inverse of what ``when`` reads.

    Examples
    --------
    >>> signal_fields(Signal(kind="rate", name="gpu.ecc_sbe_total", per_s=60.0, above=5.0))
    {'rate': 'gpu.ecc_sbe_total', 'per': '1m', 'above': 5.0}
    """
    fields: dict[str, Any] = {signal.kind: signal.name}
    for key in _SIGNAL_KINDS[signal.kind]:
        fields[key] = format_duration(signal.per_s)
    fields |= {key: value for key, value in (("above", signal.above), ("below", signal.below)) if value is not None}
    return fields


_Checked = tuple[Any, list[Problem]]


def _wrong(key: str, found: object, wanted: str) -> _Checked:
    return None, [Problem(key, f"'{key}' is {_shown(found)}; expected {wanted}")]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _line(key: str, value: object) -> _Checked:
    """Accept one line of text that a file can hold."""
    if not isinstance(value, str) or not value.strip():
        return _wrong(key, value, "a text that is not empty")
    if not value.isprintable():
        return _wrong(key, value, "one line of printable characters")
    return value.strip(), []


def _text(key: str, value: object) -> _Checked:
    if not isinstance(value, str):
        return _wrong(key, value, "a text")
    if any(0xD800 <= ord(character) <= 0xDFFF for character in value):
        return _wrong(key, value, "text that can be written as UTF-8")
    return value.replace("\r\n", "\n").replace("\r", "\n"), []


def _selector(key: str, value: object) -> _Checked:
    if not isinstance(value, (str, Selector)):
        return _wrong(key, value, "a selector such as xid:48,79 or job:NODE_FAIL@rack:rack7")
    try:
        return Selector.parse(str(value)), []
    except SpecificationError as error:
        return None, [Problem(key, str(mistake)) for mistake in error.mistakes]


def _when(key: str, value: object) -> _Checked:
    if isinstance(value, Selector):
        value = Signal(kind="event", name=str(value))
    if isinstance(value, Signal):
        if value.kind not in _SIGNAL_KINDS:
            return _wrong(f"{key}.kind", value.kind, expected(value.kind, _SIGNAL_KINDS).removeprefix("expected "))
        value = signal_fields(value)
    return _signal(key, value) if isinstance(value, Mapping) else _wrong(key, value, _WHEN_FORM)


def _signal(key: str, table: Mapping[str, Any]) -> _Checked:
    kinds = [kind for kind in _SIGNAL_KINDS if kind in table]
    if len(kinds) != 1:
        what = f"names both {' and '.join(kinds)}" if kinds else f"names no signal ({', '.join(table) or 'empty'})"
        return None, [Problem(key, f"'{key}' {what}; expected {_WHEN_FORM}")]
    kind = kinds[0]
    known = (kind, *_SIGNAL_KINDS[kind], *(() if kind == "event" else ("above", "below")))
    problems = [_extra(f"{key}.{name}", name, kind, known) for name in table if name not in known]
    name, found = _selector(f"{key}.{kind}", table[kind]) if kind == "event" else _metric(f"{key}.{kind}", table[kind])
    problems += found
    per_s = 0.0
    for part in _SIGNAL_KINDS[kind]:
        span, found = _positive(f"{key}.{part}", table.get(part, "1s" if part == "per" else None))
        problems += found
        per_s = 0.0 if found else parse_duration(span)
    bounds: dict[str, float | None] = {}
    for bound in ("above", "below"):
        bounds[bound], found = _bound(f"{key}.{bound}", table.get(bound)) if bound in known else (None, [])
        problems += found
    if problems:
        return None, problems
    return Signal(kind=kind, name=str(name), per_s=per_s, above=bounds["above"], below=bounds["below"]), []


def _extra(key: str, name: str, kind: str, known: tuple[str, ...]) -> Problem:
    if kind == "event" and name in ("above", "below"):
        return Problem(key, f"'{name}' does not go with an event, which is there or not; remove it")
    return Problem(key, f"unknown key {name!r} for a signal of kind {kind}; {expected(name, known)}")


def _metric(key: str, value: object) -> _Checked:
    """Accept a metric id; metrics that the catalogue does not know keep whatever name they have."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        return _wrong(key, value, "a metric id such as gpu.power_w (see store.catalog())")
    return value.strip(), []


def _bound(key: str, value: object) -> _Checked:
    if value is None:
        return None, []
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return _wrong(key, value, "a finite number")
    return float(value) + 0.0, []  # makes -0.0 and 0.0 one


def _duration(key: str, value: object) -> _Checked:
    """Bring a duration to its shortest spelling, at a resolution of one microsecond."""
    wanted = "a duration such as 90s, 15m, 2h or 3d"
    if isinstance(value, bool):
        return _wrong(key, value, wanted)
    try:
        return format_duration(round(parse_duration(value), 6)), []  # type: ignore[arg-type]
    except (UsageError, TypeError):
        return _wrong(key, value, wanted)


def _positive(key: str, value: object) -> _Checked:
    if value is None:
        return None, [Problem(key, f"'{key}' is missing; expected a duration such as 15m")]
    text, found = _duration(key, value)
    if not found and parse_duration(text) <= 0:
        return _wrong(key, value, "a duration longer than nothing, such as 15m")
    return text, found


def _each(check: Callable[[str, object], _Checked]) -> Callable[[str, object], _Checked]:
    """Accept a list whose items pass ``check``; order and repetition say nothing."""

    def of_list(key: str, value: object) -> _Checked:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            return _wrong(key, value, "a list, such as [...]")
        checked = [check(key, item) for item in value]
        return tuple(sorted({item for item, found in checked if not found})), [p for _, found in checked for p in found]

    return of_list


def _choice(known: Iterable[str]) -> Callable[[str, object], _Checked]:
    names = tuple(known)

    def of_choice(key: str, value: object) -> _Checked:
        if isinstance(value, str) and str(value) in names:
            return str(value), []
        return _wrong(key, value, expected(str(value), names).removeprefix("expected "))

    return of_choice


def _effect(key: str, value: object) -> _Checked:
    number, found = _bound(key, value)
    if not found and number <= 0:
        return _wrong(key, value, "a number of standard deviations above 0, such as 0.33")
    return number, found


def _scope(key: str, value: object) -> _Checked:
    if not isinstance(value, str) or not _SCOPE.fullmatch(value):
        return _wrong(key, value, "a kind of entity such as gpu, host or rack")
    return value, []


#: Every key of a hypothesis, in the order in which a file is written.
FIELDS: Mapping[str, Callable[[str, object], _Checked]] = {
    "name": _line,
    "text": _text,
    "when": _when,
    "then": _selector,
    "within": _positive,
    "guard": _duration,
    "adjust_for": _each(_metric),
    "controls": _each(_choice(CONTROLS)),
    "smallest_effect": _effect,
    "direction": _choice(DIRECTIONS),
    "scope": _scope,
    "expect": _choice(WORDS),
    "family": _line,
}
_REQUIRED = {"name": "a short sentence", "when": _WHEN_FORM, "then": "a selector such as xid:48,79"}
_DEFAULTS: Mapping[str, Any] = {
    "text": "",
    "within": "2h",
    "guard": None,
    "adjust_for": (),
    "controls": (),
    "smallest_effect": None,
    "direction": "either",
    "scope": None,
    "expect": None,
    "family": None,
}


def _contradictions(values: Mapping[str, Any]) -> list[Problem]:
    """Find fields that are right alone and wrong together."""
    problems: list[Problem] = []
    signal = values.get("when")
    if signal is not None:
        problems += _against_thresholds(signal, values.get("direction"))
        if signal.name in values.get("adjust_for", ()):
            problems.append(
                Problem("adjust_for", f"{signal.name} is the tested signal itself; it cannot be adjusted for")
            )
    guard, within = values.get("guard"), values.get("within")
    if guard is not None and within is not None and parse_duration(guard) >= parse_duration(within):
        problems.append(Problem("guard", f"a guard of {guard} leaves nothing of the {within} before the outcome"))
    return problems


def _against_thresholds(signal: Signal, direction: str | None) -> list[Problem]:
    low, high = signal.above, signal.below
    if low is not None and high is not None and low >= high:
        return [
            Problem("when.above", f"above {low:g} and below {high:g} at once is never true; expected above < below")
        ]
    against = {"down": low is not None and high is None, "up": high is not None and low is None}
    if direction is not None and against.get(direction, False):
        bound = f"above {low:g}" if low is not None else f"below {high:g}"
        return [Problem("direction", f"direction {direction!r} contradicts 'when', which waits for values {bound}")]
    return []
