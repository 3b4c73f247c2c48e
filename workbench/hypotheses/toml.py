"""Hypothesis files: read many at once with every mistake of all of them, and write a template."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from workbench.errors import NothingToDoError, SpecificationError, UsageError
from workbench.hypotheses.lines import raw_hypotheses
from workbench.hypotheses.spec import Hypothesis, Names, read_file

__all__ = ["load_hypotheses", "read_hypotheses", "template", "write_hypotheses"]

_TEMPLATE = """\
# A claim: `when` moves within `within` before `then`. Several [[hypothesis]] tables may follow.
# Check it:  workbench hypothesis check FILE.toml --store DIR
# Judge it:  workbench judge FILE.toml --store DIR --seed 7
# Reference of every key: docs/hypotheses.md

[[hypothesis]]
name = "ecc burst precedes loss"      # one line; must differ from the other names

# What moves. One of:
#   { level = "gpu.temperature_c", above = 85 }          the value itself
#   { rate = "gpu.ecc_sbe_total", per = "1m", above = 5 }  increase of a counter
#   { change = "host.power_w", over = "15m", below = -200 }  difference to the value one `over` earlier
#   { event = "aer" }                                    events, by selector
# Without above and below the signal is used as it is, with no threshold.
when = { rate = "gpu.ecc_sbe_total", per = "1m" }

then = "xid:48,94,95"                 # the outcome: kind[:code,code][@glob]
within = "2h"                         # how long before; twice as long before that is the baseline
# guard = "11m"                       # not looked at; left out: what recording, clocks and sampling ask for
# adjust_for = ["gpu.power_w", "job.age"]  # beside load, temperature, job and rack
controls = ["time_shift", "healthy_twin"]
# smallest_effect = 0.33              # standard deviations that REFUTED must exclude
direction = "up"                      # up, down or either
# scope = "gpu"                       # left out: as the catalogue says
# expect = "SUPPORTED"                # a batch exits with 1 where the verdict is another
# family = "ecc"                      # declared variants of one idea are corrected together
# text = "Seen in case 042 on three racks."
"""


def load_hypotheses(files: Sequence[str | Path], *, store: Names | None = None) -> tuple[Hypothesis, ...]:
    r"""Read hypothesis files; report every mistake of every file at once.

    Parameters
    ----------
    files : sequence of path
        TOML files with one or more ``[[hypothesis]]`` each.
    store : Store or None
        Where given, metric and event names are checked against it.

    Returns
    -------
    tuple of Hypothesis
        In the order of the files.

    Raises
    ------
    SpecificationError
        With file, line, what was found and what was expected, of every mistake.
    NothingToDoError
        Where no file is named.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "claim.toml"
    >>> _ = file.write_text('name = "a"\nwhen = { level = "gpu.power_w" }\nthen = "xid"\nwithn = "1h"\nguard = "soon"')
    >>> load_hypotheses([file])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    workbench.errors.SpecificationError: ...claim.toml has 2 mistakes:
      1. ...claim.toml line 4: unknown key 'withn'; did you mean within?
      2. ...claim.toml line 5: 'guard' is 'soon'; expected a duration such as 90s, 15m, 2h or 3d
    """
    return tuple(claim for _, claim in read_hypotheses(files, store=store))


def read_hypotheses(files: Sequence[str | Path], *, store: Names | None = None) -> list[tuple[str, Hypothesis]]:
    """Read hypothesis files as :func:`load_hypotheses` does; give each claim with its file.

    Raises
    ------
    SpecificationError
        With file, line, what was found and what was expected, of every mistake.
    NothingToDoError
        Where no file is named.
    """
    if not files:
        raise NothingToDoError("No hypothesis file is named; write one with workbench hypothesis new FILE.toml.")
    claims: list[tuple[str, Hypothesis]] = []
    mistakes: list[str] = []
    seen: dict[str, str] = {}
    for file in files:
        try:
            text = read_file(Path(file))
        except UsageError as error:
            mistakes.append(str(error))
            continue
        found, problems = Hypothesis.read_all(text, store=store)
        problems += _twice(text, str(file), seen)
        mistakes += [f"{file} line {line}: {problem}" for line, problem in sorted(problems)]
        claims += [(str(file), claim) for claim in found]
    if mistakes:
        what = str(files[0]) if len(files) == 1 else f"the set of {len(files)} hypothesis files"
        raise SpecificationError(what, mistakes)
    return claims


def write_hypotheses(claims: Iterable[Hypothesis]) -> str:
    """Write claims as one TOML text that :func:`load_hypotheses` reads back.

    Examples
    --------
    >>> claims = Hypothesis.read_all(template())[0]
    >>> Hypothesis.read_all(write_hypotheses(claims))[0] == claims
    True
    """
    return "\n".join(claim.to_toml() for claim in claims)


def template() -> str:
    """Give a commented hypothesis file to start from.

    Examples
    --------
    >>> Hypothesis.from_toml(template()).name
    'ecc burst precedes loss'
    """
    return _TEMPLATE


def _twice(text: str, file: str, seen: dict[str, str]) -> list[tuple[int, str]]:
    """Find names that were used before, in this file or an earlier one."""
    problems = []
    for table in raw_hypotheses(text)[0]:
        name = table.values.get("name")
        if not isinstance(name, str):
            continue
        line = table.line_of("name")
        if name.strip() in seen:
            problems.append((line, f"the name {name!r} is used already ({seen[name.strip()]}); names must differ"))
        seen.setdefault(name.strip(), f"{file} line {line}")
    return problems
