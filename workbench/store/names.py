"""How a device or host is spelled: the same thing in one spelling, whatever the source wrote."""

from __future__ import annotations

import ipaddress
import re

__all__ = [
    "GPU_KINDS",
    "LOOSE_KINDS",
    "device_name",
    "host_name",
    "host_part",
    "is_stable",
    "is_unique",
    "rank_of",
    "split_domain",
]

#: Kinds whose devices have names that change at a boot (index, PCI address) beside a lasting one.
GPU_KINDS = frozenset({"gpu"})
#: Kinds of which a name may say little: an index, a number that each source gives in its own way.
LOOSE_KINDS = frozenset({"gpu", "gpu_instance", "nvswitch"})
_OF_FABRIC = frozenset({"nic", "port", "switch"})
_UUID = re.compile(r"(GPU|MIG)-([0-9a-f][0-9a-f-]{7,})", re.ASCII | re.IGNORECASE)
_PCI = re.compile(r"([0-9a-f]{4}|[0-9a-f]{8}):([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?", re.ASCII | re.IGNORECASE)
_GUID = re.compile(r"(?:0x)?([0-9a-f]{16})((?:[/:]\d{1,5})?)", re.ASCII | re.IGNORECASE)
_INDEX = re.compile(r"(?:(?:nvidia|gpu)[ _-]?)?(\d{1,3})", re.ASCII | re.IGNORECASE)
_PORT = re.compile(r"(.+):\d{1,5}", re.ASCII)


def device_name(kind: str, name: str) -> str:
    """Give the one spelling of a device's name.

    PCI addresses lose their function 0 and the upper half of their domain where that is 0; GPUs
    named ``3``, ``gpu3`` and ``nvidia3`` are one; UUIDs are lower case; GUIDs of InfiniBand are
    ``0x`` and 16 digits in lower case.

    Examples
    --------
    >>> device_name("gpu", "00000000:3A:00.0"), device_name("gpu", "0000:3a:00"), device_name("gpu", "nvidia3")
    ('0000:3a:00', '0000:3a:00', '3')
    >>> device_name("gpu", "0008:01:00.0"), device_name("port", "mlx5_0/1")
    ('0008:01:00', 'mlx5_0:1')
    >>> device_name("nic", "9C0591030011AA00"), device_name("port", "0x9c0591030011aa00/1")
    ('0x9c0591030011aa00', '0x9c0591030011aa00:1')
    >>> device_name("gpu", "gpu-1"), device_name("gpu", "-1"), device_name("gpu", "--1")
    ('1', '-1', '--1')
    """
    text = name.strip()
    if pci := _PCI.fullmatch(text):
        domain = pci[1][4:] if len(pci[1]) == 8 and pci[1].startswith("0000") else pci[1]
        function = "" if pci[4] in (None, "0") else f".{pci[4]}"
        return f"{domain}:{pci[2]}:{pci[3]}{function}".lower()
    if uuid := _UUID.fullmatch(text):
        return f"{uuid[1].upper()}-{uuid[2].lower()}"
    if kind in _OF_FABRIC and (guid := _GUID.fullmatch(text)):
        return f"0x{guid[1].lower()}{guid[2].replace('/', ':')}"
    if kind in GPU_KINDS and (index := _INDEX.fullmatch(text)):
        return str(int(index[1]))
    return text.replace("/", ":") or "unnamed"  # a slash parts entities from what they lie in


def is_stable(kind: str, name: str) -> bool:
    """Tell whether this name stays with the device; GPU indices and PCI addresses do not.

    Of NVSwitches, which have no other lasting name, the PCI address does: driver, Fabric Manager and
    DCGM number them each in its own way.

    Examples
    --------
    >>> is_stable("gpu", "3"), is_stable("gpu", "GPU-1f0c2c55-0b1e"), is_stable("nic", "mlx5_0")
    (False, True, True)
    >>> is_stable("nvswitch", "nvidia-nvswitch1"), is_stable("nvswitch", "0000:06:00")
    (False, True)
    >>> is_stable("gpu_instance", "3:2"), is_stable("gpu_instance", "GPU-1f0c2c55-0b1e:2")
    (False, True)
    """
    if kind == "nvswitch":
        return _PCI.fullmatch(name) is not None
    if kind == "gpu_instance":
        return name.startswith("MIG-") or _UUID.fullmatch(name.partition(":")[0]) is not None
    return kind not in GPU_KINDS or _UUID.fullmatch(name) is not None


def is_unique(name: str) -> bool:
    """Tell whether no second device anywhere has this name: UUIDs and GUIDs, alone or with what lies in them.

    Examples
    --------
    >>> is_unique("GPU-1f0c2c55-0b1e"), is_unique("0x9c0591030011aa00:1"), is_unique("mlx5_0"), is_unique("0000:06:00")
    (True, True, False, False)
    """
    return _UUID.fullmatch(name.partition(":")[0]) is not None or _GUID.fullmatch(name) is not None


def rank_of(name: str) -> int:
    """Order names by how lasting they are: unique in the world (3), an address (2), any other (1).

    Examples
    --------
    >>> rank_of("0x9c0591030011aa00"), rank_of("0000:5e:00"), rank_of("mlx5_0")
    (3, 2, 1)
    """
    return 3 if is_unique(name) else 2 if _PCI.fullmatch(name) else 1


def host_name(name: str) -> str:
    """Give a host's name in lower case, without a port.

    Examples
    --------
    >>> host_name("Node07.dc1.example:9100"), host_name("10.0.0.7:9400"), host_name("[fe80::1]:9100")
    ('node07.dc1.example', '10.0.0.7', 'fe80::1')
    """
    text = name.strip().lower().rstrip(".")
    if text.startswith("[") and "]" in text:
        return text[1 : text.index("]")]
    port = _PORT.fullmatch(text)
    return port[1] if port and ":" not in port[1] else text


def host_part(short: str) -> str:
    """Write a host's name as a part of an id, in which ``/`` and ``:`` part what is in what.

    Both are written as in an URL, so that no two names become one; an IPv6 address, which holds no
    hyphen, is written with hyphens.

    Examples
    --------
    >>> host_part("a/b"), host_part("a-b"), host_part("r7:n1"), host_part("fe80::1"), host_part("")
    ('a%2fb', 'a-b', 'r7%3an1', 'fe80--1', 'unnamed')
    """
    if ":" in short:
        try:
            ipaddress.IPv6Address(short)
        except ValueError:
            pass  # a name
        else:
            return short.replace(":", "-")
    return short.replace("/", "%2f").replace(":", "%3a") or "unnamed"


def split_domain(name: str) -> tuple[str, str]:
    """Split a host's name into its first label and the domain behind it; addresses stay whole.

    Examples
    --------
    >>> split_domain("node07.dc1.example"), split_domain("10.0.0.7")
    (('node07', 'dc1.example'), ('10.0.0.7', ''))
    """
    try:
        ipaddress.ip_address(name)
    except ValueError:
        short, _, domain = name.partition(".")
        return (short, domain) if short else (name, "")
    return name, ""
