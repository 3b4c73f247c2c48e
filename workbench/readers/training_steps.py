"""What a training step writes of itself: Megatron and its forks, NeMo, DeepSpeed, Hugging Face."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from workbench.readers.installed import word

__all__ = ["Step", "step_of"]

_MEGATRON = re.compile(r"iteration\s+(\d{1,12})/\s*(\d{1,12}) \|(.*)")
_NEMO_BAR = re.compile(r"\[([^\[\]]{0,2000}\b(?:train_step_timing|reduced_train_loss)\b[^\[\]]{0,2000})\]")
_DEEPSPEED = re.compile(r"global_step=(\d{1,12}), (RunningAvgSamplesPerSec=.*)")
_HUGGING = re.compile(r"^\{('loss': .{1,2000})\}$")
_UNIT = re.compile(r"^(.*?)\s*\(([^()]{1,30})\)$|^(.*?) in (s|ms)$")
_UNITS = {"ms": "ms", "s": "s", "TFLOP/s/GPU": "TFLOP/s", "TFLOP/s": "TFLOP/s", "MB": "MB", "GB": "GB"}
_COUNTERS = frozenset({"consumed_samples", "consumed_tokens", "iteration", "global_step"})
_GIGABYTES = re.compile(r"^(-?[\d.]{1,20})GB$")
_MOST_FIELDS = 60


@dataclass(frozen=True, kw_only=True)
class Step:
    """Numbers of one step.

    Attributes
    ----------
    iteration : int or None
    numbers : dict of name to (cell, unit)
        Names as written, as one word; the unit as the line states it, or None.
    """

    iteration: int | None
    numbers: dict[str, tuple[str, str | None]] = field(default_factory=dict)

    def kind_of(self, name: str) -> str:
        """Give the kind of a number: these count on, all others are levels."""
        return "counter" if name in _COUNTERS else "gauge"


def step_of(text: str) -> Step | None:
    """Read a line of a step; None where it is none.

    Examples
    --------
    >>> step = step_of("iteration    7/  10 | elapsed time per iteration (s): 106.46 | lm loss: 2.1E+00 | TFLOPs: 147.29 |")
    >>> step.iteration, step.numbers["elapsed_time_per_iteration"], step.numbers["lm_loss"]
    (7, ('106.46', 's'), ('2.1E+00', None))
    >>> step_of("Epoch 0: 1%| | 1/9 [00:10<01:30, reduced_train_loss=10.2, train_step_timing in s=1.23]").numbers
    {'reduced_train_loss': ('10.2', None), 'train_step_timing': ('1.23', 's')}
    >>> step_of("{'loss': 2.3, 'learning_rate': 5e-05}").numbers
    {'train_loss': ('2.3', None), 'learning_rate': ('5e-05', None)}
    """
    if (found := _MEGATRON.search(text)) is not None:
        return _fields(int(found[1]), found[3].split("|"), ":")
    if (found := _DEEPSPEED.search(text)) is not None:
        return _fields(None, found[2].split(","), "=")  # another line tells the iteration
    if (found := _NEMO_BAR.search(text)) is not None:
        told = _fields(None, found[1].split(","), "=")
        step = told.numbers.get("global_step")
        whole = re.fullmatch(r"(\d{1,12})(?:\.0*)?", step[0]) if step else None
        return Step(iteration=int(whole[1]) if whole else None, numbers=told.numbers)
    if (found := _HUGGING.match(text.strip())) is not None:
        cells = _fields(None, found[1].replace("'", "").split(","), ":").numbers
        return Step(iteration=None, numbers={"train_loss" if name == "loss" else name: cells[name] for name in cells})
    return None


def _fields(iteration: int | None, parts: list[str], mark: str) -> Step:
    numbers: dict[str, tuple[str, str | None]] = {}
    for part in parts[:_MOST_FIELDS]:
        name, found, cell = part.strip().partition(mark)
        if not found or not cell.strip():
            continue
        unit = _UNIT.match(name.strip())
        bare = name if unit is None else unit[1] or unit[3]
        stated = None if unit is None else unit[2] or unit[4]
        key = word(bare or "")
        if key is None or len(key) > 80:
            continue
        value = cell.strip()
        if (size := _GIGABYTES.match(value)) is not None:
            value, stated = size[1], "GB"
        if re.match(r"^[-+]?(?:\d|\.\d|nan|inf|N/A|None)", value, re.IGNORECASE):
            numbers.setdefault(key, (value, _UNITS.get(stated, stated) if stated else None))
    return Step(iteration=iteration, numbers=numbers)
