"""How the kernel reports that memory ran out: from "invoked oom-killer" to the process killed."""

from __future__ import annotations

import polars as pl

__all__ = ["OOM", "OOM_BLOCK", "OOM_ROLES", "with_scope"]

#: The cheap first test.
OOM = r"invoked oom-killer|oom-kill:|ut of memory|oom_reaper: "
#: Lines that the report is made of, while one goes on.
OOM_BLOCK = (
    r"^(?:CPU: \d|Hardware name: |Call Trace:|Workqueue: | ?</?(?:TASK|IRQ)>|\s*\??\s*\[?<?[\w.]+>?\]?\+0x|\s+\? |"
    r"\s+[\w.]+\+0x[0-9a-f]+/0x|R[A-Z0-9]{2}: |RIP: |ORIG_RAX: |Code: |(?:CR|DR)\d: |[FGCDE]S: |PKRU: |Mem-Info:|active_anon:|"
    r" (?:active|inactive|isolated|unevictable|slab|mapped|shmem|free|kernel_misc|sec_page)\S*:|"
    r"Node \d+ |lowmem_reserve|\d+ (?:total pagecache|pages )|(?:Swap cache|Free swap|Total swap)|"
    r"memory: usage|memory\+swap: |swap: usage|kmem: usage|Memory cgroup stats|Tasks state|\[ *pid *\]|"
    r"\[ *\d+\] +\d+ +\d+ |Unreclaimable slab|Name +Used|[a-z][a-z_]{1,40} \d+$|"
    r"(?:cache|rss|anon|file|inactive|active)\S*:\d)"
)
_SCOPES = {
    "CONSTRAINT_NONE": "global",
    "CONSTRAINT_MEMCG": "cgroup",
    "CONSTRAINT_CPUSET": "cpuset",
    "CONSTRAINT_MEMORY_POLICY": "memory policy",
    "Out": "global",
    "Memory cgroup out": "cgroup",
}

OOM_ROLES = (
    ("invoked", r"^(?P<name>.+) invoked oom-killer: "),
    ("constraint", r"^oom-kill:constraint=(?P<constraint>\w+)(?:.*?,oom_memcg=(?P<cgroup>[^,]+))?"),
    (
        "killed",
        (
            r"^(?P<scope>Memory cgroup out|Out) of memory: Kill(?:ed)? process (?P<killed_pid>\d+),? (?:UID (?P<uid>\d+), )?"
            r"\((?P<killed>[^)]*)\)"
        ),
    ),
    ("reaped", r"^oom_reaper: reaped process (?P<killed_pid>\d+) \((?P<killed>[^)]*)\)"),
    ("block", OOM_BLOCK),
)


def with_scope(rows: pl.DataFrame) -> pl.DataFrame:
    """Say of whose memory ran out: of the machine (``global``) or of a control group (``cgroup``).

    Examples
    --------
    >>> with_scope(pl.DataFrame({"constraint": ["CONSTRAINT_MEMCG", None]}))["scope"].to_list()
    ['cgroup', None]
    """
    said = [name for name in ("constraint", "scope") if name in rows.columns]
    if not said:
        return rows
    return rows.with_columns(scope=pl.coalesce(said).replace_strict(_SCOPES, default=None, return_dtype=pl.String))
