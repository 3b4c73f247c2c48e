"""Refusing to compare what does not join: incidents under names that the metrics do not know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workbench.errors import JoinError
from workbench.model.incident import Incident
from workbench.panel.place import host_of
from workbench.store.store import Store

__all__ = ["LEAST_JOINED", "require_joined"]

#: Below this share of incidents whose names the metrics know, a comparison is refused.
LEAST_JOINED = 0.5
_SHOWN = 5


def require_joined(store: Store, incidents: Sequence[Incident]) -> None:
    """Check that incidents and metrics speak of the same things.

    GPUs: of the incidents on GPUs of hosts that have GPU metrics, half must be on GPUs that have.
    Hosts: half of the incidents' hosts must have metrics, or half of the hosts with metrics be
    known to logs or jobs: then names join, and the others were not measured.

    Raises
    ------
    JoinError
        With the names that did not join, and how to state them.
    """
    if not incidents:
        return
    measured = store.frame("select distinct entity from series where metric is not null")["entity"].to_list()
    _gpus(incidents, {name for name in measured if "/gpu:" in name})
    _hosts(store, incidents, {host for host in map(host_of, measured) if host})


def _gpus(incidents: Sequence[Incident], measured: set[str]) -> None:
    with_metrics = {host_of(name) for name in measured}
    mine = {one.entity for one in incidents if "/gpu:" in one.entity and host_of(one.entity) in with_metrics}
    if not mine or len(mine & measured) >= LEAST_JOINED * len(mine):
        return
    lost = sorted(mine - measured)
    host = host_of(lost[0]) or ""
    near = [name for name in sorted(measured) if host_of(name) == host]
    raise JoinError(
        f"{len(mine & measured)} of the {len(mine)} GPUs of the incidents have metrics under the name that the incident "
        f"gives, though their hosts do: {_list(lost)}. The metrics speak of {_list(near)}. {_state(lost[0], 'gpu', host)}"
    )


def _hosts(store: Store, incidents: Sequence[Incident], measured: set[str]) -> None:
    mine = {host for one in incidents for host in (*one.hosts, one.host) if host}
    if not mine or not measured or len(mine & measured) >= LEAST_JOINED * len(mine):
        return
    told = store.frame("select distinct entity from events union select distinct unnest(entities) from jobs")["entity"]
    known = {host for host in map(host_of, told.drop_nulls()) if host}
    if len(measured & known) >= LEAST_JOINED * len(measured):
        return
    lost = sorted(mine - measured)
    raise JoinError(
        f"{len(mine & measured)} of the {len(mine)} hosts of the incidents have metrics; not {_list(lost)}. The metrics "
        f"speak of {_list(sorted(measured - known))}, of which no log and no job knows. {_state(lost[0], 'host', None)}"
    )


def _list(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more


def _state(entity: str, kind: str, host: str | None) -> str:
    """Say how to state a name."""
    name = entity.rpartition("/")[2].partition(":")[2] if kind != "host" else entity.rpartition("/")[2]
    where = f'kind = "{kind}", host = "{host.rpartition("/")[2]}", ' if host else ""
    return (
        f'State which is which in a mapping file and ingest with it, [[alias]] {where}name = "{name}", same_as = ...: '
        "see docs/identity.md. workbench info lists what joins."
    )
