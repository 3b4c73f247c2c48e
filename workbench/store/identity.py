"""One id for one thing: host, GPU, port ... under all the names that sources give it.

Ids are ``cluster``, ``cluster/host``, ``cluster/host/gpu:UUID``, and ``cluster/rack:r7`` for what
belongs to no host. A name that the alias table leads to a lasting one is replaced by it, for the
time that the alias is known for; a name that it does not stays as written and counts as unresolved.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from workbench.store.names import device_name, host_name, host_part, is_stable, is_unique, rank_of, split_domain
from workbench.timebase import to_us

__all__ = ["ALWAYS", "STATED_RULE", "Identity", "Resolved", "Who", "merged_aliases", "parent_of"]

#: Host, kind and name of a device, as a source writes them.
Who = tuple[str | None, str | None, str | None]
_MIN, _MAX = -(2**63), 2**63 - 1
ALWAYS = (_MIN, _MAX)
Span = tuple[int, int]
_Key = tuple[str, str, str]
_DEPTH = 4
HOST_RULE = "host name"
#: What the user states in a mapping file: goes before what dumps say.
STATED_RULE = "stated"
#: Kinds whose names are all of one device: the most lasting of them is its id.
_ONE_DEVICE = frozenset({"nic", "nvswitch"})
#: Kinds that are named by what they lie in: ``3:2`` is slice 2 of GPU 3.
_LIES_IN = {"gpu_instance": "gpu", "compute_instance": "gpu", "port": "nic"}


@dataclass(frozen=True)
class Resolved:
    """What a name stands for.

    Attributes
    ----------
    entity : str
        Canonical id; where ``spans`` is not empty, the one that holds outside of them.
    kind : str
    host : str or None
        Id of the host.
    name : str
        The device's name, in its one spelling.
    stable : bool
        Whether ``entity`` is built on a lasting name.
    spans : tuple of (from_us, to_us, entity)
        Half-open times in which the name stands for another entity.
    """

    entity: str
    kind: str
    host: str | None
    name: str
    stable: bool = True
    spans: tuple[tuple[int, int, str], ...] = ()


@dataclass
class _Evidence:
    """One statement that two names are one device, and for which time."""

    target: str
    start: int
    end: int
    stated: bool = False


@dataclass
class Identity:
    """Resolves names; learns aliases and host names as they come.

    Attributes
    ----------
    cluster : str
    learned : list of dict
        Rows for the ``aliases`` table that were not in it.
    notes : list of str
        What could not be told apart, or had to be kept apart.
    """

    cluster: str = "cluster"
    learned: list[dict[str, object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _hosts: dict[str, str] = field(default_factory=dict)
    _domain: dict[str, str] = field(default_factory=dict)
    _known: set[tuple[object, ...]] = field(default_factory=set)
    _aliases: dict[_Key, list[_Evidence]] = field(default_factory=dict)
    _owner: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    _near: dict[tuple[str, str], dict[str, set[str]]] = field(default_factory=dict)
    _timelines: dict[_Key, tuple[tuple[int, int, str], ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, aliases: pl.DataFrame, cluster: str = "cluster") -> Identity:
        """Start from the ``aliases`` table of a store."""
        identity = cls(cluster)
        rows = merged_aliases(aliases, by=("host", "kind", "name", "rule")).to_dicts()
        # Of hosts, what is only a spelling first: what somebody says goes before it.
        rows.sort(key=lambda row: (row["kind"] != "host", row["rule"] != HOST_RULE, row["same_as"] != row["name"]))
        for row in rows:
            identity._known.add(_row_key(row))
            if row["kind"] == "host":
                identity._hosts[row["name"]] = row["same_as"]
                short, domain = split_domain(row["name"])
                if domain and row["same_as"] == short:
                    identity._domain[short] = domain
            else:
                host = identity._settled(row["host"]) if row["host"] else ""
                identity._take((host, row["kind"], row["name"]), row["same_as"], _span(row), row["rule"] == STATED_RULE)
        return identity

    def host(self, written: str) -> str:
        """Give the one name of a host.

        That is its first label in lower case. A second host with the same first label in another
        domain keeps its whole name, and a note says so.
        """
        name = host_name(written)
        if name in self._hosts:
            return self._settled(self._hosts[name])
        short, domain = split_domain(name)
        bound = self._domain.get(short)
        if domain and bound is not None and bound != domain:
            self.notes.append(
                f"{name} and {short}.{bound} share their first label and are kept apart as {name} and {short}"
            )
            chosen = name
        else:
            chosen = host_part(short)
            if domain:
                self._domain[short] = domain
        self._hosts[name] = chosen
        self._learn((None, "host", name), chosen, HOST_RULE, ALWAYS)  # no source: others rely on it too
        return self._settled(chosen)

    def _settled(self, name: str) -> str:
        """Follow from host name to host name."""
        for _ in range(_DEPTH):
            further = self._hosts.get(name, name)
            if further == name:
                break
            name = further
        return name

    def learn(self, aliases: pl.DataFrame, source: str | None = None) -> None:
        """Take what a reader says about names (``workbench.model.frames.ALIASES``)."""
        for row in aliases.iter_rows(named=True):
            kind, device, same = row["device_kind"], row["device"], row["same_as"]
            if kind is None or device is None or same is None:
                continue
            span = _span(row)
            if kind == "host":
                chosen = self.host(same)
                if chosen != host_name(device):
                    self._hosts[host_name(device)] = chosen
                    rule = row["rule"] if row["rule"] == STATED_RULE else HOST_RULE
                    self._learn((None, "host", host_name(device)), chosen, rule, ALWAYS)
                continue
            host = self.host(row["host"]) if row["host"] else None
            name, target = device_name(kind, device), device_name(kind, same)
            if name != target:
                self._take((host or "", kind, name), target, span, row["rule"] == STATED_RULE)
                self._learn((host, kind, name), target, row["rule"] or "", span, source=source)

    def _learn(
        self, who: tuple[str | None, str, str], same: str, rule: str, span: Span, *, source: str | None = None
    ) -> None:
        host, kind, name = who
        row: dict[str, object] = {
            "cluster": self.cluster, "host": host, "kind": kind, "name": name, "same_as": same, "rule": rule,
            "valid_from": None if span[0] == _MIN else span[0], "valid_to": None if span[1] == _MAX else span[1],
        }  # fmt: skip
        if (key := _row_key(row)) not in self._known:
            self._known.add(key)
            self.learned.append({**row, "source": source})

    def _take(self, key: _Key, target: str, span: Span, stated: bool) -> None:
        host, kind, name = key
        self._aliases.setdefault(key, []).append(_Evidence(target, *span, stated))
        if kind in _ONE_DEVICE:
            near = self._near.setdefault((host, kind), {})
            near.setdefault(name, set()).add(target)
            near.setdefault(target, set()).add(name)
        self._timelines.clear()
        if host and is_unique(target):
            self._owner.setdefault((kind, target), set()).add(host)

    def resolve(self, who: Who) -> Resolved:
        """Give the entity that a source means.

        Examples
        --------
        >>> Identity().resolve(("Node07.dc1.example", "gpu", "nvidia3")).entity
        'cluster/node07/gpu:3'
        >>> Identity().resolve((None, "rack", "r7")).entity
        'cluster/rack:r7'
        """
        written, kind, device = who
        host = self.host(written) if written else None
        if kind in (None, "", "host") or device is None:
            return self._bare(host, kind, device)
        if kind == "cluster":
            return Resolved(self.cluster, "cluster", None, self.cluster)
        name = device_name(kind, device)
        host = host or self._sole_owner(kind, name)
        if host is not None and kind == "gpu" and is_stable(kind, name):
            self._owner.setdefault((kind, name), set()).add(host)
        spans = self._timeline((host or "", kind, name))
        whole = next((target for start, end, target in spans if (start, end) == ALWAYS), name)
        timed = tuple(
            (start, end, self._id(host or self._sole_owner(kind, target), kind, target))
            for start, end, target in spans
            if (start, end) != ALWAYS
        )
        host = host or self._sole_owner(kind, whole)  # a LID leads to a GUID, and that to its host
        stable = is_stable(kind, whole) or (bool(timed) and whole == name)
        host_id = f"{self.cluster}/{host}" if host else None
        return Resolved(self._id(host, kind, whole), kind, host_id, whole, stable, timed)

    def _sole_owner(self, kind: str, name: str) -> str | None:
        """Give the host that alone has a device of this lasting name."""
        owners = self._owner.get((kind, name), set())
        return next(iter(owners)) if len(owners) == 1 else None

    def _bare(self, host: str | None, kind: str | None, device: str | None) -> Resolved:
        """Resolve a host, or an entity that only its kind names."""
        if host is None and kind == "host" and device:
            host = self.host(device)
        if host is None:
            return Resolved(self.cluster, "cluster", None, self.cluster)
        return Resolved(f"{self.cluster}/{host}", "host", f"{self.cluster}/{host}", host)

    def _id(self, host: str | None, kind: str, name: str) -> str:
        return f"{self.cluster}/{host}/{kind}:{name}" if host else f"{self.cluster}/{kind}:{name}"

    def _timeline(self, key: _Key) -> tuple[tuple[int, int, str], ...]:
        if key not in self._timelines:
            top = self._most_lasting(key)
            self._timelines[key] = (
                ((*ALWAYS, top),) if top else _merged(self._follow(key, ALWAYS, _DEPTH)) or self._within(key)
            )
        return self._timelines[key]

    def _most_lasting(self, key: _Key) -> str | None:
        """Give the most lasting of all names that are told to be one device; None where two are as lasting."""
        host, kind, name = key
        near = self._near.get((host, kind), {})
        found, front = {name}, [name]
        while front:
            front = [further for one in front for further in near.get(one, ()) if further not in found]
            found.update(front)
        highest = max(map(rank_of, found))
        best = [one for one in found if rank_of(one) == highest]
        return best[0] if len(found) > 1 and highest > 1 and len(best) == 1 else None

    def _within(self, key: _Key) -> tuple[tuple[int, int, str], ...]:
        """Name a part by the lasting name of what it lies in."""
        host, kind, name = key
        above = _LIES_IN.get(kind)
        places = [place for place, letter in enumerate(name) if letter == ":"] if above else []
        for place in reversed(places):
            whole = self._timeline((host, str(above), device_name(str(above), name[:place])))
            if whole and all(is_unique(target) for _, _, target in whole):
                return tuple((start, end, target + name[place:]) for start, end, target in whole)
        return ()

    def _follow(self, key: _Key, within: Span, depth: int) -> list[tuple[int, int, str]]:
        """Follow aliases from name to name within a time; names without aliases end there."""
        found: list[tuple[int, int, str]] = []
        for start, end, target in _phases(self._aliases.get(key, ())):
            low, high = max(start, within[0]), min(end, within[1])
            if low >= high:
                continue
            further = self._follow((key[0], key[1], target), (low, high), depth - 1) if depth else []
            found += further or [(low, high, target)]
        return found


def merged_aliases(aliases: pl.DataFrame, *, by: Sequence[str]) -> pl.DataFrame:
    """Join rows that say the same of one name, one after the other in time.

    Parameters
    ----------
    aliases : polars.DataFrame
        The columns of ``by``, and ``same_as, rule, valid_from, valid_to``.
    by : sequence of str
        What a name is.
    """
    if aliases.is_empty():
        return aliases
    ordered = aliases.sort([*by, "valid_from", "valid_to", "same_as"])
    new = (pl.col("same_as") != pl.col("same_as").shift(1)) | (pl.struct(by) != pl.struct(by).shift(1))
    rest = [name for name in aliases.columns if name not in (*by, "same_as", "valid_from", "valid_to")]

    def bound(name: str, end: pl.Expr) -> pl.Expr:
        return pl.when(pl.col(name).is_null().any()).then(None).otherwise(end).alias(name)

    joined = ordered.with_columns(_run=new.fill_null(True).cum_sum()).group_by("_run", maintain_order=True).agg(
        *(pl.col(name).first() for name in (*by, "same_as", *rest)),
        bound("valid_from", pl.col("valid_from").min()), bound("valid_to", pl.col("valid_to").max()),
    )  # fmt: skip
    return joined.select(aliases.columns)


def _span(row: Mapping[str, object]) -> Span:
    """Give validity as microseconds; not stated: always."""
    start, end = (_us(row[name]) for name in ("valid_from", "valid_to"))
    return (_MIN if start is None else start, _MAX if end is None else end)


def _us(value: object) -> int | None:
    if value is None or isinstance(value, int):
        return value
    assert isinstance(value, datetime)
    return to_us(value)


def _row_key(row: Mapping[str, object]) -> tuple[object, ...]:
    return (row["host"], row["kind"], row["name"], row["same_as"], *_span(row))


def _phases(evidence: Iterable[_Evidence]) -> list[tuple[int, int, str]]:
    """Give the times for which a name stands for one target.

    One target over all evidence holds always: nothing says that it ever changed. Several targets
    hold from their first to their last evidence in a row, the first also before and the last also
    after; between two of them nothing is known. Targets whose times overlap contradict each other:
    there the name stays unresolved.
    """
    items = list(evidence)
    # What is stated goes before what is told, and what was seen at a time before what nobody dated.
    items = [item for item in items if item.stated] or items
    items = [item for item in items if (item.start, item.end) != ALWAYS] or items
    runs: list[_Evidence] = []
    for item in sorted(items, key=lambda one: (one.start, one.end, one.target)):
        if runs and runs[-1].target == item.target:
            runs[-1] = _Evidence(item.target, runs[-1].start, max(runs[-1].end, item.end))
        else:
            runs.append(item)
    if len({run.target for run in runs}) <= 1:
        return [(*ALWAYS, run.target) for run in runs[:1]]
    if any(left.end >= right.start for left, right in itertools.pairwise(runs)):
        return []
    last = len(runs) - 1
    return [
        (_MIN if i == 0 else run.start, _MAX if i == last else run.end + 1, run.target) for i, run in enumerate(runs)
    ]


def _merged(spans: Sequence[tuple[int, int, str]]) -> tuple[tuple[int, int, str], ...]:
    """Join neighbouring times of one target."""
    joined: list[tuple[int, int, str]] = []
    for start, end, target in sorted(spans):
        if joined and joined[-1][2] == target and joined[-1][1] >= start:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]), target)
        else:
            joined.append((start, end, target))
    return tuple(joined)


def parent_of(entity: str) -> str | None:
    """Give the id above: of a GPU its host, of a host or rack the cluster; None above the cluster.

    Examples
    --------
    >>> parent_of("cluster/n1/gpu:GPU-1"), parent_of("cluster/rack:r7"), parent_of("cluster")
    ('cluster/n1', 'cluster', None)
    """
    above, slash, _ = entity.rpartition("/")
    return above if slash else None
