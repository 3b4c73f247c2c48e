"""What the kernel says of storage: NFS, Lustre, disks, file systems and their recovery."""

from __future__ import annotations

from workbench.readers.kernel_rule import Rule

__all__ = ["STORAGE_RULES"]

_NFS = {"not responding, still trying": "not_responding", "not responding, timed out": "timed_out", "OK": "ok"}
_NVME = {
    "timeout": "timeout",
    "controller is down": "down",
    "Device not ready": "not_ready",
    "Removing after probe failure": "removed",
    "Disabling device after reset failure": "removed",
    "resetting controller": "reset",
}
_TARGET = r"(?P<target>[A-Za-z0-9_]+-(?:OST|MDT|MGT)[0-9a-fA-F]{0,4})"  # what follows is a pointer
_LUSTRE = {
    "was lost": "lost",
    "Connection restored": "restored",
    "was evicted": "evicted",
    "Skipped": "skipped",
    "Will be in recovery": "recovery",
    "Recovery over": "recovered",
}
_FS = {
    "recovery required": "recovery_required",
    "recovery complete": "recovered",
    "orphan cleanup": "orphan_cleanup",
    "mounted filesystem": "mounted",
    "unmounting filesystem": "unmounted",
    "mounting fs with errors": "mounted_with_errors",
    "Mounting": "mounting",
    "Unmounting Filesystem": "unmounted",
    "Starting recovery": "recovery",
    "Ending recovery": "recovered",
    "Ending clean mount": "mounted",
    "Metadata corruption detected": "corrupt",
    "metadata I/O error": "io_error",
    "Filesystem has been shut down": "shutdown",
    "Shutting down filesystem": "shutdown",
    "recovery failed": "recovery_failed",
    "Detected IO errors": "io_error",
    "recovery": "recovery",
}

#: In order of priority, as in :data:`workbench.readers.kernel_rules.LINE_RULES`.
STORAGE_RULES = (
    Rule(
        kind="nfs",
        find=": server ",
        pattern=r"^(?:nfs|lockd): server (?P<server>\S+) (?P<code>not responding, still trying|not responding, timed out|OK)",
        codes=_NFS,
    ),
    Rule(
        kind="lustre",
        find="previous similar message",
        pattern=r"^(?:Lustre|LNet)(?:Error)?: (?:.{0,200}? )?(?P<code>Skipped) (?P<skipped>\d+) previous similar message",
        codes=_LUSTRE,
    ),
    Rule(
        kind="lustre",
        find="[sent ",
        pattern=r"^Lustre(?:Error)?: .*?\[sent (?P<sent>\d{1,12})/real (?P<real>\d{1,12})\].*?"
        rf"{_TARGET}(?:[^@\s]*@(?P<nid>[^:\s]+))?",
        code="timeout",
    ),
    Rule(
        kind="lustre",
        find="ecovery ",
        pattern=rf"^Lustre: {_TARGET}: (?P<code>Will be in recovery|Recovery over)(?: after (?P<took>[\d:]+))?",
        codes=_LUSTRE,
    ),
    Rule(
        kind="lustre",
        find="evicting it",
        pattern=rf"^Lustre: {_TARGET}: haven't heard from client \S+ (?:\(at (?P<nid>[^)\s]+)\) )?in (?P<seconds>\d{{1,7}}) seconds",
        code="evicting",
    ),
    Rule(kind="lustre", find="LNetError: ", pattern=r"^LNetError: (?P<detail>.{0,200})", code="network"),
    Rule(
        kind="lustre",
        find="Lustre: ",
        pattern=rf"^Lustre: .*?{_TARGET}.*?(?:\(at (?P<nid>[^)\s]+)\) )?(?P<code>was lost)",
        codes=_LUSTRE,
    ),
    Rule(
        kind="lustre",
        find="Lustre: ",
        pattern=rf"^Lustre: .*?{_TARGET}.*?(?P<code>Connection restored|was evicted)(?:.*\(at (?P<nid>[^)\s]+)\))?",
        codes=_LUSTRE,
    ),
    Rule(
        kind="lustre",
        find="LustreError: ",
        pattern=rf"^LustreError: (?:.*?{_TARGET})?"
        r"(?:.*?(?P<code>was evicted))?(?:.*? rc = (?P<rc>-?\d+))?",
        codes=_LUSTRE,
        code="error",
    ),
    Rule(
        kind="nvme",
        find="nvme nvme",
        pattern=r"^nvme (?P<device>nvme\d+): .*?(?P<code>timeout|controller is down|Device not ready|"
        r"Removing after probe failure|Disabling device after reset failure|resetting controller)",
        device_kind="disk",
        codes=_NVME,
    ),
    Rule(
        kind="io_error",
        find="error, dev ",
        pattern=r"^(?:[\w.]+: )?(?P<code>I/O|critical \w+) error, dev (?P<device>[^\s,]+), sector (?P<sector>\d+)",
        device_kind="disk",
        codes={"I/O": "io", "critical medium": "medium", "critical target": "target", "critical space": "space"},
    ),
    Rule(
        kind="filesystem",
        find="emounting filesystem read-only",
        pattern=r"^(?P<type>[^\s:(]+) \((?P<device>[^):]+)[^)]*\): Remounting filesystem read-only",
        device_kind="disk",
        code="readonly",
    ),
    Rule(
        kind="filesystem",
        find="-fs error (device ",
        pattern=r"^(?P<type>\S+)-fs error \(device (?P<device>[^)]+)\)",
        device_kind="disk",
        code="error",
    ),
    Rule(
        kind="filesystem",
        find="EXT4-fs (",
        pattern=r"^(?P<type>EXT4-fs) \((?P<device>[^):]+)[^)]*\): (?:.*\s)??(?P<code>recovery required|recovery complete|"
        r"orphan cleanup|mounted filesystem|unmounting filesystem|mounting fs with errors)",
        device_kind="disk",
        codes=_FS,
    ),
    Rule(
        kind="filesystem",
        find="XFS (",
        pattern=r"^(?P<type>XFS) \((?P<device>[^)]+)\): (?:.*\s)??(?P<code>Mounting|Unmounting Filesystem|Starting recovery|"
        r"Ending recovery|Ending clean mount|Metadata corruption detected|metadata I/O error|Filesystem has been shut down|"
        r"Shutting down filesystem)",
        device_kind="disk",
        codes=_FS,
    ),
    Rule(
        kind="filesystem",
        find="Aborting journal on device ",
        pattern=r"^(?:JBD2?: )?Aborting journal on device (?P<device>[A-Za-z0-9_]+)",
        device_kind="disk",
        code="journal_aborted",
    ),
    Rule(
        kind="filesystem",
        find="JBD2: ",
        pattern=r"^(?P<type>JBD2): (?:.*\s)??(?P<code>recovery failed|Detected IO errors|recovery)\b(?:.* on (?P<device>\S+))?",
        device_kind="disk",
        codes=_FS,
    ),
)
