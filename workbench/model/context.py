"""What a user states about a file because the file cannot say it itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Columns", "Context"]


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which column of a generic table means what.

    Attributes
    ----------
    shape : str or None
        ``wide`` (a column per metric), ``long`` (metric and value columns), ``events``, ``jobs``,
        ``topology``; None: the reader tells by the header, or rejects.
    roles : mapping of role to column name
        Roles: ``ts end host device metric value unit kind code severity message job user state``
        and so on; a constant is written ``"=gpu"``.
    device_kind : str or None
        Kind of the device column, such as ``gpu``.
    """

    shape: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    device_kind: str | None = None


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
    boot_at_us : int or None
        UTC microseconds of the boot that ``[843127.551201]`` counts from.
    host : str or None
        Host that the dump is of, where the file does not name it.
    columns : Columns
        For generic tables.
    """

    zone: str | None = None
    year: int | None = None
    taken_at_us: int | None = None
    boot_at_us: int | None = None
    host: str | None = None
    columns: Columns = field(default_factory=Columns)
