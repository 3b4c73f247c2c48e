"""What a rule for one kernel message is, and how it is applied to a column of lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from workbench.model.pci import normal_pci_column

__all__ = ["PCI", "Rule", "parsed", "typed"]

#: A PCI address as drivers print it.
PCI = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?"
_INTEGERS = frozenset(
    {"bank", "compute_instance", "count", "cpu", "engine", "gpu_instance", "killed_pid", "level", "link", "module"}
    | {"pid", "port", "real", "seconds", "sector", "sent", "skipped", "subengine", "time", "uid", "watts"}
)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One message of the kernel.

    Attributes
    ----------
    kind : str
        Kind of the event.
    find : str
        Text that every such message holds: the cheap first test.
    pattern : str
        Its named groups are ``code``, ``device`` and attributes. A PCI address in ``device`` is
        written in one way, and kept as written in the attribute ``pci``.
    device_kind : str
        Kind of ``device``; the event is the host's own where that group is missing or empty.
    codes : mapping
        Codes as we write them, by what stands in the message; others in lower case.
    code : str or None
        For messages that have no ``code`` group.
    backdate : int
        The message comes this many times its ``seconds`` after the fact, at most.
    """

    kind: str
    find: str
    pattern: str
    device_kind: str = "host"
    codes: Mapping[str, str] = field(default_factory=dict)
    code: str | None = None
    backdate: int = 0


def parsed(lines: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    r"""Give the rows of ``lines`` that ``rule`` fits, with what its groups caught.

    Parameters
    ----------
    lines : polars.DataFrame
        With ``text``; its other columns are kept.

    Returns
    -------
    polars.DataFrame
        With ``kind``, ``code``, ``device_kind``, ``device`` and the attributes, typed.

    Examples
    --------
    >>> link = Rule(
    ...     kind="link", find="Link ", device_kind="nic", codes={"down": "down"},
    ...     pattern=rf"^\S+ (?P<device>{PCI}) (?P<netdev>\S+): Link (?P<code>down)",
    ... )
    >>> lines = pl.DataFrame({"text": ["mlx5_core 0000:5e:00.0 ibp94s0: Link down", "Link to nowhere"]})
    >>> parsed(lines, link).select("kind", "code", "device_kind", "device", "netdev").rows()
    [('link', 'down', 'nic', '0000:5e:00', 'ibp94s0')]
    """
    fits = lines.filter(pl.col("text").str.contains(rule.pattern))
    groups = _groups(rule.pattern)
    caught = fits.with_columns(pl.col("text").str.extract_groups(rule.pattern).struct.unnest()) if groups else fits
    code = pl.lit(rule.code, pl.String)
    if "code" in groups:
        said = pl.col("code").replace_strict(
            rule.codes, default=pl.col("code").str.to_lowercase(), return_dtype=pl.String
        )
        code = said.fill_null(code)
    device = pl.col("device") if "device" in groups else pl.lit(None, pl.String)
    if rule.kind == "link" and "bond" in groups:
        device = device.fill_null(pl.col("netdev"))
    pci = normal_pci_column(device)
    return typed(
        caught.with_columns(
            kind=pl.lit(rule.kind),
            code=code,
            device=pci.fill_null(device),
            device_kind=pl.when(device.is_null()).then(pl.lit("host")).otherwise(pl.lit(rule.device_kind)),
            **({"pci": pl.when(pci.is_not_null()).then(device)} if "device" in groups else {}),
        )
    )


def typed(caught: pl.DataFrame) -> pl.DataFrame:
    """Turn the attributes that are whole numbers into integers; empty ones into null.

    Examples
    --------
    >>> typed(pl.DataFrame({"pid": ["7", ""], "name": ["a", ""]})).rows()
    [(7, 'a'), (None, '')]
    """
    whole = [name for name in caught.columns if name in _INTEGERS and caught.schema[name] == pl.String]
    return caught.with_columns(pl.col(whole).cast(pl.Int64, strict=False))


def _groups(pattern: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\(\?P<(\w+)>", pattern))
