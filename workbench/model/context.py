"""What a user states about a file because the file cannot say it itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["EPOCH_UNITS", "KINDS", "ROLES", "SHAPES", "Columns", "Context"]

#: What the rows of a generic table are.
SHAPES = ("wide", "long", "events", "jobs", "topology")
#: Kinds of metric that a user can state.
KINDS = ("gauge", "counter")
#: Units of a number that is a time, and how many microseconds each holds (``ns``: divide by 1000).
EPOCH_UNITS = ("ns", "us", "ms", "s", "min", "h", "d")
_WHEN = ("ts", "date", "end")
_WHO = ("cluster", "host", "entity", "device", "device_kind", "gpu", "gpu_uuid", "gpu_pci", "gpu_serial", "mig")
_WHERE = ("nic", "port", "switch", "rack", "pdu", "outlet", "loop")
_SAMPLES = ("metric", "value", "unit", "kind", "labels")
_EVENTS = ("code", "severity", "message")
_JOBS = ("job", "attempt", "submitted", "start", "state", "exit", "user", "name", "nodes")
_TOPOLOGY = ("parent", "child", "parent_kind", "child_kind", "relation", "row", "hall", "guid", "alias")
#: What a column of a generic table can mean.
ROLES = (*_WHEN, *_WHO, *_WHERE, *_SAMPLES, *_EVENTS, *_JOBS, *_TOPOLOGY)


@dataclass(frozen=True, kw_only=True)
class Columns:
    r"""Which column of a generic table means what.

    Attributes
    ----------
    shape : str or None
        ``wide`` (a column per metric), ``long`` (metric and value columns), ``events``, ``jobs``,
        ``topology``; None: the reader tells by the header, or rejects.
    roles : mapping of role to column name
        Roles are those of ``ROLES``; a constant is written ``"=gpu"``.
    device_kind : str or None
        Kind of the device column, such as ``gpu``.
    units : mapping of column name to unit
        Unit of the numbers of a column (in a long table: of a metric) that carry none.
    kinds : mapping of column name to ``gauge`` or ``counter``
        Likewise.
    time_format : str or None
        strptime format of the times, where they are not RFC 3339, ISO or an epoch number.
    epoch : str or None
        Unit of times that are numbers; None: told by magnitude.
    epoch_origin_us : int or None
        UTC microseconds that numeric times count from; None: 1970.
    pattern : str or None
        Regular expression on the column names of a wide table, with the groups ``metric`` and
        ``device``, such as ``gpu(?P<device>\d+)_(?P<metric>.*)``.
    labels, ignore : tuple of str
        Columns that are labels of the metrics; columns to leave out.
    decimal : str or None
        ``,`` or ``.``; None: a comma only in tables delimited by semicolons that show one.
    """

    shape: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    device_kind: str | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    time_format: str | None = None
    epoch: str | None = None
    epoch_origin_us: int | None = None
    pattern: str | None = None
    labels: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    decimal: str | None = None

    @property
    def stated(self) -> bool:
        """Whether the user said anything about the columns."""
        return self != Columns()


@dataclass(frozen=True, kw_only=True)
class Context:
    """Stated by the user (``--clock``, ``--year``, ``--map``); None means not stated.

    Attributes
    ----------
    zone : str or None
        IANA zone of the times in the file that carry none.
    year : int or None
        Year of the first record, for stamps such as ``Nov  2 03:14:01``.
    taken_at_us : int or None
        UTC microseconds at which a dump without any time was taken.
    interval_s : float or None
        Seconds between the samples of a dump without any time, from ``taken_at_us`` on.
    boot_at_us : int or None
        UTC microseconds of the boot that ``[843127.551201]`` counts from.
    host : str or None
        Host that the dump is of, where the file does not name it.
    cluster : str or None
        Cluster that the dump is of.
    reader : str or None
        Reader to use, whatever the content looks like.
    salvage : bool
        Take what a compressed member gave although its checksum fails; stated of such files only.
    file_name : str or None
        End of its path, with forward slashes, where that says what the content cannot: HOST/load/load-DATE.
    columns : Columns
        For generic tables.
    """

    zone: str | None = None
    year: int | None = None
    taken_at_us: int | None = None
    interval_s: float | None = None
    boot_at_us: int | None = None
    host: str | None = None
    cluster: str | None = None
    reader: str | None = None
    salvage: bool = False
    file_name: str | None = None
    columns: Columns = field(default_factory=Columns)
