"""What the daemons of Slurm say of nodes and jobs, message by message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from workbench.model.nodelist import expand
from workbench.readers.told import Told
from workbench.timebase import MICROS, format_us

__all__ = ["LIKELY", "Message", "SlurmMessages"]

_JOB = r"JobId=(?:[\d_\[\]%,+-]{1,80}\((?P<raw>\d{1,12})\)|(?P<job>\d{1,12})\b\S*)"
_NODES = r"(?P<nodes>[\w.\[\],-]{1,4000}?)"
_MOST_NODES = 20_000
_MOST_OPEN = 200_000  # jobs that run at one time
#: Text that lines hold which may be of account: the cheap first test.
LIKELY = (
    "responding", "returned to service", "update_node", "state set to", "Setting node", "rebooted", "JobId=", "oom",
    "DUE TO", " version ", "erminat",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Message:
    """One line of a log.

    Attributes
    ----------
    line : int
    text : str
        Without stamp and level.
    span_us : (low, high)
    severity : str
    host : str or None
        Stated host of the file.
    """

    line: int
    text: str
    span_us: tuple[int, int]
    severity: str
    host: str | None


@dataclass(eq=False)
class _Run:
    start_us: int
    nodes: list[str]
    line: int
    attempt: int
    state: str | None = None


@dataclass(eq=False)
class SlurmMessages:
    """What is known from message to message: who is silent, which reason was given, which jobs run."""

    _silent: dict[str, int] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)
    _runs: dict[str, _Run] = field(default_factory=dict)
    _starts: dict[str, list[int]] = field(default_factory=dict)

    def take(self, message: Message, told: Told) -> bool:
        """Tell the events of a message; False where none of the rules fits."""
        for pattern, tell in _RULES:
            if (found := pattern.search(message.text)) is not None:
                return tell(self, found, message, told) is not False
        return False

    def rest(self, told: Told) -> None:
        """Tell the jobs that were not seen to end."""
        for job, run in self._runs.items():
            run.state = None  # what was said so far need not be the last word
            _tell_run(told, job, run, None)
        self._runs.clear()

    def not_responding(self, found: re.Match[str], message: Message, told: Told) -> None:
        """``Nodes X not responding[, setting DOWN]``: the first of these is when contact was lost."""
        for host in _expanded(found["nodes"]):
            first = self._silent.setdefault(host, message.span_us[0])
            if found["down"] is None:
                self._node(host, "not_responding", message, told)
                continue
            self._node(host, "down", message, told, since_us=first, reason="Not responding")

    def responding(self, found: re.Match[str], message: Message, told: Told) -> None:
        """``Node X now responding``, ``returned to service``."""
        for host in _expanded(found["nodes"]):
            self._silent.pop(host, None)
            self._node(host, "responding", message, told)

    def rebooted(self, found: re.Match[str], message: Message, told: Told) -> None:
        """``Node X unexpectedly rebooted``: between its last answer and the boot."""
        attributes = {key: value for key in ("boot_time", "last_response") if (value := found[key])}
        for host in _expanded(found["nodes"]):
            self._node(host, "rebooted", message, told, reason="Node unexpectedly rebooted", more=attributes)

    def reason(self, found: re.Match[str], message: Message, told: Told) -> None:
        """``update_node: node X reason set to: R``; the state follows."""
        for host in _expanded(found["nodes"]):
            self._reasons[host] = found["reason"].strip()
            self._node(host, "reason", message, told, reason=found["reason"].strip())

    def state(self, found: re.Match[str], message: Message, told: Told) -> None:
        """``node X state set to S``."""
        state = found["state"].upper().rstrip("*.,")
        for host in _expanded(found["nodes"]):
            given = found.groupdict().get("reason")
            reason = given.strip() if given else self._reasons.get(host)
            if "DRAIN" in state:
                _event(
                    told, message, (host, "host", None), ("drain", None), attributes={"reason": reason, "state": state}
                )
            elif state in {"IDLE", "RESUME", "UNDRAIN"}:
                self._reasons.pop(host, None)
                _event(told, message, (host, "host", None), ("resume", None), attributes={"state": state})
            else:
                self._node(host, state.lower(), message, told, reason=reason)

    def _node(
        self,
        host: str,
        code: str,
        message: Message,
        told: Told,
        *,
        since_us: int | None = None,
        reason: str | None = None,
        more: dict[str, Any] | None = None,
    ) -> None:
        attributes: dict[str, Any] = {"reason": reason, **(more or {})}
        if since_us is not None and since_us < message.span_us[0]:
            attributes["silent_since"] = format_us(since_us)
            attributes["silent_s"] = (message.span_us[0] - since_us) / MICROS
        _event(told, message, (host, "host", None), ("node", code), attributes=attributes, began_us=since_us)

    def allocate(self, found: re.Match[str], message: Message, told: Told) -> None:
        """``Allocate JobId=J NodeList=N``: a run of the job begins."""
        job, nodes = _job_of(found), _expanded(found["nodes"])
        attributes = {"nodes": found["nodes"], "partition": found.groupdict().get("partition")}
        _event(told, message, (None, "job", job), ("slurm", "allocate"), attributes=attributes)
        self._close(job, message, told)
        if len(self._runs) >= _MOST_OPEN:
            return
        start = message.span_us[0] // MICROS * MICROS  # the second that accounting writes
        starts = self._starts.setdefault(job, [])
        if start not in starts:
            starts.append(start)
        self._runs[job] = _Run(start, nodes, message.line, starts.index(start) + 1)

    def failed_node(self, found: re.Match[str], message: Message, told: Told) -> None:
        """A job lost a node: it failed no later than now, and no earlier than the node fell silent."""
        job = _job_of(found)
        hosts = _expanded(found["nodes"])
        first = min((self._silent[host] for host in hosts if host in self._silent), default=None)
        who, attributes = (None, "job", job), {"node": found["nodes"]}
        _event(told, message, who, ("job", "NODE_FAIL"), attributes=attributes, began_us=first)
        self._close(job, message, told, state="NODE_FAIL")

    def timeout(self, found: re.Match[str], message: Message, told: Told) -> None:
        """A job reached its limit."""
        _event(told, message, (None, "job", _job_of(found)), ("job", "TIMEOUT"), attributes={})
        self._ends_as(_job_of(found), "TIMEOUT")

    def cancelled(self, found: re.Match[str], message: Message, told: Told) -> None:
        """``*** JOB 7 ON n1 CANCELLED AT T DUE TO R ***``, of slurmd and slurmstepd."""
        why = found["why"].strip()
        if found["what"] == "JOB":
            state = next((state for word, state in _DUE.items() if word in why), "CANCELLED")
            _event(
                told,
                message,
                (None, "job", found["job"]),
                ("job", state),
                attributes={"node": found["nodes"], "reason": why},
            )
            self._ends_as(found["job"], state)
        else:
            attributes = {"step": found["step"], "node": found["nodes"], "reason": why}
            _event(told, message, (None, "job", found["job"]), ("slurm", "step_cancelled"), attributes=attributes)

    def _ends_as(self, job: str, state: str) -> None:
        if (run := self._runs.get(job)) is not None:
            run.state = state

    def completed(self, found: re.Match[str], message: Message, told: Told) -> None:
        """``_job_complete: JobId=J`` with how the script ended, or ``done``."""
        job, run = _job_of(found), self._runs.get(_job_of(found))
        if found["exit"] is not None:
            _event(told, message, (None, "job", job), ("slurm", "exit"), attributes={"status": int(found["exit"])})
            if run is not None and run.state is None:
                run.state = "COMPLETED" if int(found["exit"]) == 0 else "FAILED"
        elif found["signal"] is not None:
            _event(told, message, (None, "job", job), ("slurm", "signal"), attributes={"signal": int(found["signal"])})
        else:
            _event(told, message, (None, "job", job), ("slurm", "done"), attributes={})
            self._close(job, message, told)

    def requeued(self, found: re.Match[str], message: Message, told: Told) -> None:
        """``Requeuing JobId=J``."""
        _event(told, message, (None, "job", _job_of(found)), ("slurm", "requeue"), attributes={})
        self._close(_job_of(found), message, told, state="REQUEUED")

    def other(self, code: str) -> Callable[[re.Match[str], Message, Told], None]:
        """Give what tells a message of a job, or of the daemon itself, that changes nothing we keep."""

        def tell(found: re.Match[str], message: Message, told: Told) -> None:
            groups = {key: value for key, value in found.groupdict().items() if key not in {"raw", "job"} and value}
            who = (None, "job", _job_of(found)) if "job" in found.groupdict() else (message.host, "host", None)
            _event(told, message, who, ("slurm", code), attributes=groups)

        return tell

    def _close(self, job: str, message: Message, told: Told, *, state: str | None = None) -> None:
        run = self._runs.pop(job, None)
        if run is not None:
            run.state = state or run.state
            end = message.span_us[0] // MICROS * MICROS
            _tell_run(told, job, run, end if end >= run.start_us else None)


def _tell_run(told: Told, job: str, run: _Run, end_us: int | None) -> None:
    told.job(
        job=job, attempt=run.attempt, start=run.start_us, end=end_us, state=run.state, nodes=run.nodes, line=run.line
    )


def _event(
    told: Told,
    message: Message,
    who: tuple[str | None, str, str | None],
    what: tuple[str, str | None],
    *,
    attributes: dict[str, Any],
    began_us: int | None = None,
) -> None:
    kind, code = what
    told.event(
        who, kind, message.text, span_us=message.span_us, line=message.line, code=code,
        severity=message.severity, attributes=attributes, began_us=began_us,
    )  # fmt: skip


def _job_of(found: re.Match[str]) -> str:
    groups = found.groupdict()
    return groups.get("raw") or groups["job"]


def _expanded(nodes: str) -> list[str]:
    try:
        return expand(nodes, limit=_MOST_NODES)
    except ValueError:
        return [nodes]


_DUE = {"TIME LIMIT": "TIMEOUT", "NODE FAILURE": "NODE_FAIL", "PREEMPTION": "PREEMPTED"}
_Tell = Callable[[SlurmMessages, re.Match[str], Message, Told], None]


def _plain(code: str) -> _Tell:
    return lambda told_of, found, message, told: told_of.other(code)(found, message, told)


def _compiled(rules: dict[str, _Tell]) -> Iterator[tuple[re.Pattern[str], _Tell]]:
    for pattern, tell in rules.items():
        yield re.compile(pattern), tell


#: The first that fits holds.
_RULES: tuple[tuple[re.Pattern[str], _Tell], ...] = tuple(
    _compiled(
        {
            rf"\bNodes? {_NODES} not responding(?P<down>, setting DOWN)?\s*$": SlurmMessages.not_responding,
            rf"\b[Nn]ode {_NODES} (?:now responding|returned to service)": SlurmMessages.responding,
            rf"\bNode {_NODES} (?:unexpectedly rebooted|has been rebooted)(?: boot_time=(?P<boot_time>\d+))?(?: last response=(?P<last_response>\d+))?": SlurmMessages.rebooted,
            rf"\bupdate_node: node {_NODES} reason set to: (?P<reason>.*)$": SlurmMessages.reason,
            rf"\b[Nn]odes? {_NODES} state set to (?P<state>[\w*+-]+)": SlurmMessages.state,
            rf"\b[Ss]etting node {_NODES} (?:state )?to (?P<state>[\w*+-]+)(?: with reason:? ?(?P<reason>.*))?": SlurmMessages.state,
            rf"{_JOB}.{{0,40}}\bdue to failure of node {_NODES}\s*$": SlurmMessages.failed_node,
            rf"Killing {_JOB} on failed node {_NODES}\s*$": SlurmMessages.failed_node,
            rf"Time limit exhausted for {_JOB}": SlurmMessages.timeout,
            r"\*\*\* (?P<what>JOB|STEP) (?P<step>(?P<job>\d{1,12})(?:\.\w{1,20})?) ON (?P<nodes>\S{1,255}) CANCELLED AT \S+ DUE TO (?P<why>.{1,80}?) \*\*\*": SlurmMessages.cancelled,
            rf"_job_complete: {_JOB} (?:WEXITSTATUS (?P<exit>\d{{1,6}})|WTERMSIG (?P<signal>\d{{1,3}})|done)": SlurmMessages.completed,
            rf"^Requeuing {_JOB}": SlurmMessages.requeued,
            rf"\bAllocate {_JOB} NodeList=(?P<nodes>\S{{1,4000}})(?:.{{0,80}}? Partition=(?P<partition>\S+))?": SlurmMessages.allocate,
            rf"\bStarted {_JOB} in (?P<partition>\S+) on (?P<nodes>\S{{1,4000}})": SlurmMessages.allocate,
            rf"_slurm_rpc_submit_batch_job: {_JOB}": _plain("submit"),
            rf"REQUEST_KILL_JOB {_JOB} uid (?P<uid>\d{{1,10}})": _plain("kill"),
            rf"Batch {_JOB} missing from batch node (?P<node>\S{{1,255}})": _plain("missing"),
            r"Detected (?P<count>\d{1,9}) oom[_-]kill events? in StepId=(?P<step>(?P<job>\d{1,12})\.\w{1,20})": _plain(
                "oom_kill"
            ),
            r"^(?P<daemon>slurm\w+) version (?P<version>\S+) started": _plain("started"),
            r"^(?P<daemon>Slurmd|Terminate signal|Slurmctld) (?:shutdown|.{0,40}(?:received|terminat))": _plain(
                "stopped"
            ),
        }
    )
)
