"""Columns of a wide table as metrics: ``power [W]``, ``temp:3``, ``temp{gpu="3"}``, or a stated pattern."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.model.context import Columns
from workbench.readers.units import split_unit

__all__ = ["MetricColumn", "label_text", "metric_columns"]

_INDEXED = re.compile(r"(?P<metric>.+):(?P<device>\d{1,5})")
_LABELLED = re.compile(r"(?P<metric>[^{}]*)\{(?P<labels>[^{}]*)\}\s*")
_LABEL = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_PREFIX = re.compile(r"(gpu|nic|hca|port|disk|nvme|pdu|outlet)s?(?=[_.\s-]|$)", re.IGNORECASE)
_HOSTS = ("Hostname", "hostname", "host", "node", "instance")


@dataclass(frozen=True, kw_only=True)
class MetricColumn:
    """One metric of a wide table.

    Attributes
    ----------
    column : str
        Name in the table.
    metric : str
        Name without unit, index and labels.
    device_kind, device : str or None
        Where the name says what the metric is of.
    host : str or None
        Likewise.
    labels : str
        Canonical JSON.
    unit, kind : str or None
        As stated or written; None where not.
    free : bool
        The device stands in no host, such as a loop of coolant.
    """

    column: str
    metric: str
    device_kind: str | None = None
    device: str | None = None
    host: str | None = None
    labels: str = "{}"
    unit: str | None = None
    kind: str | None = None
    free: bool = False


def label_text(labels: dict[str, str]) -> str:
    """Write labels as canonical JSON.

    Examples
    --------
    >>> label_text({"b": "2", "a": "é"})
    '{"a":"é","b":"2"}'
    """
    return json.dumps(labels, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def metric_columns(names: Sequence[str], stated: Columns) -> tuple[tuple[MetricColumn, ...], tuple[str, ...]]:
    """Tell what each column of a wide table measures.

    Parameters
    ----------
    names : sequence of str
        Columns that are neither time nor entity.
    stated : Columns
        Units, kinds, and a pattern for names that hold a device.

    Returns
    -------
    tuple of MetricColumn, tuple of str
        Columns, and notes for the user.

    Examples
    --------
    >>> columns, _ = metric_columns(["gpu_temp:3", "power [W]", 'util{gpu="1",mode="x"}'], Columns())
    >>> [(c.metric, c.device_kind, c.device, c.labels, c.unit) for c in columns]
    [('gpu_temp', 'gpu', '3', '{}', None), ('power', None, None, '{}', 'W'), ('util', 'gpu', '1', '{"mode":"x"}', None)]
    """
    pattern = re.compile(stated.pattern) if stated.pattern else None
    found = []
    for name in names:
        plain, unit = split_unit(name)
        column = _patterned(name, plain, pattern, stated) or _labelled(name, plain) or _indexed(name, plain, stated)
        fields: dict[str, Any] = dict(column or {"metric": plain})
        metric = fields["metric"]
        found.append(
            MetricColumn(
                column=name,
                unit=stated.units.get(name) or stated.units.get(metric) or unit,
                kind=stated.kinds.get(name) or stated.kinds.get(metric),
                **fields,
            )
        )
    return tuple(found), ()


def _patterned(name: str, plain: str, pattern: re.Pattern[str] | None, stated: Columns) -> dict[str, str] | None:
    hit = (pattern.fullmatch(plain) or pattern.fullmatch(name)) if pattern else None
    if hit is None or not hit["metric"] or not hit["device"]:
        return None
    return {"metric": hit["metric"], "device": hit["device"], "device_kind": stated.device_kind or "gpu"}


def _labelled(name: str, plain: str) -> dict[str, str] | None:
    """Read ``metric{label="value"}``."""
    hit = _LABELLED.fullmatch(name) or _LABELLED.fullmatch(plain)
    if hit is None:
        return None
    pairs = _LABEL.findall(hit["labels"])
    if not pairs or _LABEL.sub("", hit["labels"]).strip():
        return None
    labels = {key: re.sub(r"\\(.)", r"\1", value) for key, value in pairs}
    fields = {"metric": labels.pop("__name__", "") or hit["metric"].strip() or name}
    for key in ("UUID", "gpu_uuid", "uuid", "gpu"):
        if key in labels and "device" not in fields:
            fields |= {"device_kind": "gpu", "device": labels.pop(key)}
    for key in _HOSTS:
        if key in labels and "host" not in fields:
            fields["host"] = labels.pop(key)
    return fields | {"labels": label_text(labels)}


def _indexed(name: str, plain: str, stated: Columns) -> dict[str, str] | None:
    """Read ``gpu_temp:3``; where the name does not say of what, the index is a label."""
    hit = _INDEXED.fullmatch(plain) or _INDEXED.fullmatch(name)
    if hit is None:
        return None
    prefix = _PREFIX.match(hit["metric"])
    kind = stated.device_kind or (prefix[1].lower() if prefix else None)
    if kind is None:
        return {"metric": hit["metric"], "labels": label_text({"index": hit["device"]})}
    return {
        "metric": hit["metric"],
        "device": hit["device"],
        "device_kind": {"hca": "nic", "nvme": "disk"}.get(kind, kind),
    }
