"""Other messages of training logs that are events: checkpoints, NCCL, ranks that end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.readers.graph import Node

__all__ = ["LIKELY", "Said", "said_of"]

#: Text that a line of account holds: the cheap first test.
LIKELY = (
    "iteration", "Watchdog caught", "heckpoint", "NCCL WARN", "NCCL INFO comm", "nranks", "'loss':", "exitcode", "last enqueued",
    "global_rank_mapping", "world_size", "WORLD_SIZE", "world size", "global_step", "train_step_timing", "reduced_train_loss",
    "bus bandwidth", "Out of bounds", "SIGTERM", "heartbeat",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Said:
    """An event that a line tells.

    Attributes
    ----------
    kind, code : str
    attributes : mapping
    who : Node or None
        None: the job.
    duration_s : float or None
        How long it took, where the line says so.
    """

    kind: str
    code: str | None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    who: Node | None = None
    duration_s: float | None = None


def said_of(text: str) -> Said | None:
    """Give the event that a line tells; None where it tells none.

    Examples
    --------
    >>> said_of("saving checkpoint at iteration       5 to .//checkpoint/a").code
    'begin'
    >>> said_of("  successfully saved checkpoint from iteration     5 to /c [ t 1/2, p 1/1 ]").code
    'end'
    >>> said_of("n1:9:9 [3] NCCL WARN NET/IB : Got completion with status=12 len=0 vendor err 129 (Recv) hca mlx5_3").who
    ('n1', 'nic', 'mlx5_3')
    """
    for pattern, tell in _RULES:
        if (found := pattern.search(text)) is not None:
            return tell(found)
    return None


def _checkpoint(code: str) -> Callable[[re.Match[str]], Said]:
    def tell(found: re.Match[str]) -> Said:
        groups = found.groupdict()
        number = groups.get("iteration")
        seconds = groups.get("seconds")
        if seconds is None and groups.get("ms") is not None:
            duration: float | None = float(groups["ms"]) / 1000
        else:
            duration = None if seconds is None else float(seconds)
        attributes = {
            "iteration": None if number is None else int(number),
            "path": groups.get("path"),
            "duration_s": duration,
        }
        return Said(kind="checkpoint", code=code, attributes=attributes, duration_s=duration)

    return tell


def _completion(found: re.Match[str]) -> Said:
    parts = {key: found[key] for key in ("peer", "opcode", "direction")}
    attributes = {
        "status": int(found["status"]),
        "vendor_err": int(found["vendor"]),
        "cuda_device": int(found["device"]),
        **parts,
    }
    nic = found["hca"]
    who = (found["host"], "nic", nic) if nic else (found["host"], "host", None)
    return Said(kind="nccl.ib", code=found["status"], attributes=attributes, who=who)


def _warning(found: re.Match[str]) -> Said:
    attributes = {"cuda_device": int(found["device"])}
    return Said(kind="nccl", code="warn", attributes=attributes, who=(found["host"], "host", None))


def _exception(found: re.Match[str]) -> Said:
    numbers = {key: int(found[key]) for key in ("rank", "work", "enqueued", "completed")}
    return Said(kind="nccl", code="exception", attributes=numbers)


def _ended(found: re.Match[str]) -> Said:
    attributes = {"exit": int(found["exit"]), "local_rank": int(found["rank"]), "pid": int(found["pid"])}
    return Said(kind="job.rank_exit", code=found["exit"], attributes=attributes)


def _heartbeat(found: re.Match[str]) -> Said:
    del found
    return Said(kind="nccl", code="heartbeat")


_NUMBER = r"\d{1,12}(?:\.\d{1,9})?"
_NCCL = r"(?P<host>[\w.-]{1,255}):\d+:\d+ \[(?P<device>\d{1,3})\] NCCL WARN "
_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Said]], ...] = (
    (re.compile(r"\bsaving checkpoint at iteration\s+(?P<iteration>\d{1,12}) to (?P<path>\S{1,500})"), _checkpoint("begin")),
    (re.compile(r"\bsuccessfully saved checkpoint (?:from|at) iteration\s+(?P<iteration>\d{1,12})(?: to (?P<path>\S{1,500}))?"), _checkpoint("end")),
    (re.compile(rf"^\s*save-checkpoint \.*: \({_NUMBER}, (?P<ms>{_NUMBER})\)"), _checkpoint("took")),
    (re.compile(rf"Global Checkpoint Save ?: .*?Iteration: (?P<iteration>\d{{1,12}}) .*?Save duration: (?P<seconds>{_NUMBER}) ?s"), _checkpoint("took")),
    (re.compile(rf"[Cc]heckpoint save for step (?P<iteration>\d{{1,12}}) took (?P<seconds>{_NUMBER}) ?s"), _checkpoint("took")),
    (re.compile(r"\bsuccessfully loaded checkpoint from (?P<path>\S{1,500}).{0,40}?at iteration\s+(?P<iteration>\d{1,12})"), _checkpoint("loaded")),
    (re.compile(_NCCL + r"NET/IB ?: Got completion (?:from peer (?P<peer>\S{1,100}) )?with (?:status=|error )(?P<status>\d{1,4})(?:,? opcode[= ](?P<opcode>\d{1,6}))?.{0,40}? vendor err (?P<vendor>\d{1,6})(?: \((?P<direction>\w+)\))?(?:.{0,200}?\bhca (?P<hca>[\w.-]{1,60}))?"), _completion),
    (re.compile(_NCCL), _warning),
    (re.compile(r"Rank (?P<rank>\d{1,7})\] Exception \(either an error or timeout\) detected by watchdog at work: (?P<work>\d{1,12}), last enqueued NCCL work: (?P<enqueued>\d{1,12}), last completed NCCL work: (?P<completed>\d{1,12})"), _exception),
    (re.compile(r"failed \(exitcode: (?P<exit>-?\d{1,6})\) local_rank: (?P<rank>\d{1,5}) \(pid: (?P<pid>\d{1,10})\)"), _ended),
    (re.compile(r"HeartbeatMonitor|Heartbeat monitor timed out"), _heartbeat),
)  # fmt: skip
