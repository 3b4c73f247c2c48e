"""Log lines of known templates, as kernels and daemons of a cluster write them: the truth for grouping by template."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["TEMPLATES", "labelled_lines"]

_USERS = [
    "ann",
    "bob",
    "carla",
    "dmitri",
    "eve",
    "farid",
    "gita",
    "hanne",
    "ivo",
    "jing",
    "kofi",
    "lena",
    "mehmet",
    "nora",
    "omar",
    "petra",
]
_PODS = ["loader", "trainer", "eval", "proxy", "cache", "indexer", "gateway", "sampler"]
_WORDS = ["sda", "queue", "ring0", "main", "alpha", "beta", "gamma", "delta-two", "lz4", "default"]
_STAGES = ["prolog", "epilog", "launch", "cleanup"]

#: ``{x}`` is a variable; every line of an entry is of one template. Entries that differ in one word are two.
TEMPLATES = (
    "nvidia-nvswitch{n}: SXid (PCI:{pci}): {n}, Non-fatal, Link {n} {word} error",
    "mlx5_core {pci} {nic}: Link up",
    "mlx5_core {pci} {nic}: Link down",
    "mlx5_core {pci}: poll_health:{n}:(pid {n}): device's health compromised - reached miss count",
    "mlx5_core {pci}: Port module event[error]: module {n}, Cable error, High Temperature",
    "{nic}: NETDEV WATCHDOG: CPU: {n}: transmit queue {n} timed out {n} ms",
    "docker0: port {n}({veth}) entered blocking state",
    "docker0: port {n}({veth}) entered forwarding state",
    "docker0: port {n}({veth}) entered disabled state",
    "EXT4-fs ({disk}): mounted filesystem {uuid} r/w with ordered data mode. Quota mode: none.",
    "EXT4-fs error (device {disk}): ext4_find_entry:{n}: inode #{n}: comm {comm}: reading directory lblock {n}",
    "EXT4-fs warning (device {disk}): ext4_dx_add_entry:{n}: Directory (ino: {n}) index full, reach max htree level :{n}",
    "perf: interrupt took too long ({n} > {n}), lowering kernel.perf_event_max_sample_rate to {n}",
    "nfs: server {host} not responding, still trying",
    "nfs: server {host} not responding, timed out",
    "nfs: server {host} OK",
    "Lustre: {fs}-OST{hex4}-osc-{hex16}: Connection restored to {ip}@o2ib (at {ip}@o2ib)",
    "Lustre: {fs}-OST{hex4}-osc-{hex16}: Connection to {fs}-OST{hex4} (at {ip}@o2ib) was lost; in progress operations using this service will wait for recovery to complete",
    "LustreError: {n}-{n}: {fs}-MDT{hex4}: operation {op} to node {ip}@o2ib failed: rc = -{n}",
    "Memory cgroup out of memory: Killed process {n} ({comm}) total-vm:{n}kB, anon-rss:{n}kB, file-rss:{n}kB, shmem-rss:{n}kB, UID:{n} pgtables:{n}kB oom_score_adj:{n}",
    "oom_reaper: reaped process {n} ({comm}), now anon-rss:{n}kB, file-rss:{n}kB, shmem-rss:{n}kB",
    "INFO: task {comm}:{n} blocked for more than {n} seconds.",
    "watchdog: BUG: soft lockup - CPU#{n} stuck for {n}s! [{comm}:{n}]",
    "EDAC MC{n}: {n} CE memory read error on CPU_SrcID#{n}_MC#{n}_Chan#{n}_DIMM#{n} (channel:{n} slot:{n} page:{hex} offset:{hex} grain:{n} syndrome:{hex})",
    "mce: [Hardware Error]: Machine check events logged",
    "mce: CPU{n}: Core temperature above threshold, cpu clock throttled (total events = {n})",
    "mce: CPU{n}: Core temperature/speed normal",
    "{comm}[{n}]: segfault at {hex16} ip {hex16} sp {hex16} error {n} in {lib}[{hex16}+{hex16}]",
    "Accepted publickey for {user} from {ip} port {n} ssh2: ED25519 SHA256:{b64}",
    "Failed password for {user} from {ip} port {n} ssh2",
    "Failed password for invalid user {user} from {ip} port {n} ssh2",
    "Connection closed by authenticating user {user} {ip} port {n} [preauth]",
    "pam_unix(sshd:session): session opened for user {user}(uid={n}) by (uid={n})",
    "pam_unix(sshd:session): session closed for user {user}",
    "({user}) CMD ({path} --quiet)",
    "Started Session {n} of User {user}.",
    "Removed slice User Slice of UID {n}.",
    "{unit}.service: Main process exited, code=exited, status={n}/FAILURE",
    "{unit}.service: Scheduled restart job, restart counter is at {n}.",
    "{unit}.service: Deactivated successfully.",
    "sched: Allocate JobId={n} NodeList={nodes} #CPUs={n} Partition={word}",
    "sched/backfill: _start_job: Started JobId={n} in {word} on {nodes}",
    "_job_complete: JobId={n} WEXITSTATUS {n}",
    "_job_complete: JobId={n} done",
    "error: Nodes {nodes} not responding",
    "error: Nodes {nodes} not responding, setting DOWN",
    "update_node: node {host} state set to DRAINED",
    "update_node: node {host} state set to IDLE",
    "launch task StepId={n}.{n} request from UID:{n} GID:{n} HOST:{ip} PORT:{n}",
    "error: {stage} failed: rc:{n} output:{path}",
    "{host}:{n}:{n} [{n}] NCCL INFO Channel {n}/{n} : {n}[{n}] -> {n}[{n}] via P2P/CUMEM/read",
    "{host}:{n}:{n} [{n}] NCCL INFO NET/IB : Using [{n}]mlx5_{n}:{n}/IB/SHARP [RO]; OOB {nic}:{ip}<{n}>",
    "{host}:{n}:{n} [{n}] NCCL WARN NET/IB : Got completion from peer {ip}<{n}> with status={n} opcode={n} len={n} vendor err {n} (Recv) localGid {gid} remoteGids {gid}",
    "{host}:{n}:{n} [{n}] NCCL INFO comm {hex} rank {n} nranks {n} cudaDev {n} busId {n} - Init COMPLETE",
    "[Rank {n}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={n}, OpType={OP}, NumelIn={n}, NumelOut={n}, Timeout(ms)={n}) ran for {n} milliseconds before timing out.",
    "Back-off restarting failed container {pod} in pod {pod}-{hash}_{ns}({uuid})",
    'Successfully pulled image "{image}" in {f}s ({f}s including waiting). Image size: {n} bytes.',
    'Readiness probe failed: Get "http://{ip}:{n}/healthz": dial tcp {ip}:{n}: connect: connection refused',
    "Successfully assigned {ns}/{pod}-{hash} to {host}",
    "saving checkpoint at iteration {n} to {path} in {word} format",
    "successfully saved checkpoint from iteration {n} to {path}",
    "iteration {n}/ {n} | consumed samples: {n} | elapsed time per iteration (s): {f} | learning rate: {e} | global batch size: {n} | lm loss: {e} | grad norm: {f} |",
    "loss scale overflow, skipping step, reducing to {n}",
    "retrying {op} on shard {n} after {f}s: {comm} said {word}",
    "drive {disk} of enclosure {word}: predicted to fail within {n} days",
    "fan {n} of psu {n} runs at {n} RPM, below {n} RPM",
    "fan {n} of psu {n} runs at {n} RPM again",
    "user {user} exceeded quota on {path}: {n} of {n} blocks",
    "license checkout of feature {word} by {user} denied",
)  # fmt: skip

Draw = Callable[[np.random.Generator], str]


def _one_of(*words: str) -> Draw:
    return lambda rng: str(rng.choice(words))


def _hex(digits: int, before: str = "") -> Draw:
    return lambda rng: before + "".join(rng.choice(list("0123456789abcdef"), digits))


def _joined(part: Draw, count: tuple[int, int], between: str, before: str = "") -> Draw:
    return lambda rng: before + between.join(part(rng) for _ in range(int(rng.integers(*count))))


#: How the value of each field is drawn.
_FIELDS: dict[str, Draw] = {
    "n": lambda rng: str(int(10 ** rng.uniform(0, 5))),
    "f": lambda rng: f"{rng.gamma(2.0, 3.0):.3f}",
    "e": lambda rng: f"{rng.gamma(2.0, 3.0):.6E}",
    "pci": lambda rng: f"0000:{rng.integers(256):02x}:{rng.integers(32):02x}.{rng.integers(2)}",
    "nic": _one_of("ibp94s0", "enp1s0f0", "eth2", "bond0", "ens3f1np1"),
    "veth": _hex(7, "veth"),
    "disk": _one_of("nvme0n1p2", "sda1", "dm-3", "md127", "nvme7n1"),
    "uuid": lambda rng: "-".join(_hex(digits)(rng) for digits in (8, 4, 4, 4, 12)),
    "comm": _one_of("python3", "kworker/u96:3", "ptxas", "slurmstepd", "rcu_sched", "dcgm", "jbd2/dm-0-8"),
    "host": lambda rng: _one_of(
        f"node{rng.integers(512):03d}", f"gpu-a{rng.integers(40)}", "home", "nfs-01.site.local"
    )(rng),
    "nodes": lambda rng: _one_of("node007", "node[001-004,009]", f"gpu-a{rng.integers(9)}", "gpu-a[1-3]")(rng),
    "fs": _one_of("scratch", "work", "lfs01"),
    "hex4": _hex(4),
    "hex": lambda rng: _hex(int(rng.integers(1, 12)), "0x")(rng),
    "hex16": _hex(12, "ffff"),
    "hash": _hex(10),
    "ip": lambda rng: ".".join(str(rng.integers(1, 255)) for _ in range(4)),
    "gid": _joined(_hex(4), (4, 5), ":", "fe80::"),
    "op": _one_of("ldlm_enqueue", "ost_read", "mds_close", "obd_ping", "ost_write", "mds_sync"),
    "OP": _one_of("ALLREDUCE", "ALLGATHER", "REDUCE_SCATTER", "BROADCAST", "COALESCED"),
    "lib": _one_of("libc.so.6", "libcuda.so.550.90.07", "libtorch_cpu.so"),
    "b64": lambda rng: "".join(rng.choice(list("ABCDEFGHIJabcdefghij0123456789+/"), 43)),
    "user": _one_of(*_USERS),
    "path": _joined(_one_of("data", "ckpt", "home", "run7", "a.b"), (1, 5), "/", "/"),
    "unit": _one_of("dcgm-exporter", "nvidia-persistenced", "slurmd", "node_exporter", "chronyd"),
    "word": _one_of(*_WORDS),
    "stage": _one_of(*_STAGES),
    "pod": _one_of(*_PODS),
    "ns": _one_of("ml", "kube-system", "team-a"),
    "image": lambda rng: f"registry.local/{rng.choice(_PODS)}:v{rng.integers(9)}.{rng.integers(20)}",
}


def labelled_lines(count: int, *, seed: int, templates: Sequence[str] = TEMPLATES) -> tuple[list[str], list[int]]:
    """Write lines of known templates: few templates make most lines, some make one or two.

    Parameters
    ----------
    count : int
    seed : int
    templates : sequence of str
        With ``{x}`` where a field of kind ``x`` stands, as in ``TEMPLATES``.

    Returns
    -------
    lines : list of str
        In no order; every template is there where ``count`` allows.
    labels : list of int
        For each line the number of its template in ``templates``.

    Examples
    --------
    >>> lines, labels = labelled_lines(200, seed=7)
    >>> len(lines), len(set(labels)) == len(TEMPLATES)
    (200, True)
    """
    rng = np.random.default_rng(seed)
    shares = 1.0 / (1.0 + rng.permutation(len(templates))) ** 1.2
    more = rng.choice(len(templates), max(0, count - len(templates)), p=shares / shares.sum())
    chosen = rng.permutation(np.concatenate([np.arange(len(templates)), more])[:count])
    labels: list[int] = chosen.tolist()
    return [_filled(templates[label], rng) for label in labels], labels


def _filled(template: str, rng: np.random.Generator) -> str:
    first, *rest = template.split("{")
    said = [first]
    for part in rest:
        name, _, after = part.partition("}")
        said += [_FIELDS[name](rng), after]
    return "".join(said)
