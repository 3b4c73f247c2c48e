"""One spelling for PCI addresses, which sources write in at least four."""

from __future__ import annotations

from functools import lru_cache

import polars as pl

__all__ = ["normal_pci", "normal_pci_column"]

_SHAPE = r"^(?:pci:)?(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2})(?:\.([0-7]))?$"


def normal_pci_column(address: pl.Expr) -> pl.Expr:
    """Write PCI addresses in one way: lower case, a domain of 4 digits where 4 will do, no ``.0``.

    The domain stays (on some boards all GPUs share bus and device and differ by domain alone), and
    so does a function other than 0. An address without a domain is of domain 0000. What is no PCI
    address is null.

    Examples
    --------
    >>> frame = pl.DataFrame({"bus": ["00000000:3A:00.0", "PCI:0000:3a:00", "3a:00.1", "00010000:01:00.0", "eth0"]})
    >>> frame.select(normal_pci_column(pl.col("bus"))).to_series().to_list()
    ['0000:3a:00', '0000:3a:00', '0000:3a:00.1', '00010000:01:00', None]
    """
    parts = address.str.to_lowercase().str.extract_groups(_SHAPE)
    domain, device, function = (parts.struct.field(name) for name in ("1", "2", "3"))
    domain = domain.fill_null("0000")
    short = pl.when(domain.str.starts_with("0000")).then(domain.str.tail(4)).otherwise(domain)
    tail = pl.when(function != "0").then(pl.concat_str(pl.lit("."), function)).otherwise(pl.lit(""))
    return pl.concat_str(short, pl.lit(":"), device, tail)


@lru_cache(maxsize=4096)
def normal_pci(address: str) -> str | None:
    """Write one PCI address in our way; None for what is none.

    Examples
    --------
    >>> normal_pci("00000009:01:00.0"), normal_pci("mlx5_0")
    ('0009:01:00', None)
    """
    frame = pl.DataFrame({"bus": [address]}).select(normal_pci_column(pl.col("bus")).alias("bus"))
    written: str | None = frame["bus"][0]
    return written
