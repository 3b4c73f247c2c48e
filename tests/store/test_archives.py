"""Archives are read as the files they hold; nothing is written under their names, and nothing is lost in silence."""

import gzip
import io
import os
import struct
import tarfile
import tracemalloc
import zipfile

import pytest
import zstandard
from toyreader import TOY

import workbench as wb
from workbench.store import archive

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z
FILES = {"node1/dmesg.txt": 5, "node2/dmesg.txt": 7, "./top.txt": 3}


def content(name, count):
    lines = "".join(f"S {T0 + n} {name.split('/')[0].strip('.') or 'top'} gpu 0 x {n}.5\n" for n in range(count))
    return f"toy\n{lines}".encode()


def tar(files=FILES, extra=(), mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as made:
        made.addfile(_folder())
        for name, count in files.items():
            data = content(name, count) if isinstance(count, int) else count
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
        for info in extra:
            made.addfile(info)
    return out.getvalue()


def _folder():
    info = tarfile.TarInfo("node1")
    info.type = tarfile.DIRTYPE
    return info


def zipped(files=FILES, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        for name, count in files.items():
            made.writestr(name, content(name, count) if isinstance(count, int) else count)
    return out.getvalue()


def _v7():
    """A tar from before ustar: only its checksum tells."""
    data = bytearray(tar())
    place = 0
    while place < len(data) and data[place]:
        size = int(data[place + 124 : place + 135].split(b"\0")[0] or b"0", 8)
        data[place + 257 : place + 345] = bytes(88)
        data[place + 148 : place + 156] = b" " * 8
        data[place + 148 : place + 156] = b"%06o\0 " % sum(data[place : place + 512])
        place += 512 + -(-size // 512) * 512
    return bytes(data)


PACKED = {
    "a.tar": tar,
    "a.tgz": lambda: gzip.compress(tar()),
    "a.tar.gz": lambda: gzip.compress(tar()[:4000]) + gzip.compress(tar()[4000:]),
    "a.tar.zst": lambda: zstandard.compress(tar()),
    "wrong.suffix": tar,
    "a.zip": zipped,
    "stored.zip": lambda: zipped(method=zipfile.ZIP_STORED),
    "old.tar": _v7,
}


@pytest.mark.parametrize("name", PACKED)
def test_members_are_files_of_their_own(store, dumps, load, name):
    (dumps / name).write_bytes(PACKED[name]())
    report = load()
    assert [(f.path.rpartition("!")[2], f.status, f.samples) for f in report.files] == [
        ("node1/dmesg.txt", "loaded", 5), ("node2/dmesg.txt", "loaded", 7), ("top.txt", "loaded", 3),
    ]  # fmt: skip
    assert report.files[0].path == f"{dumps / name}!node1/dmesg.txt"
    assert store.sql("select count(*) from samples").row(0) == (15,)
    assert [f.status for f in load().files] == ["known"] * 3
    (dumps / "node1").mkdir()
    (dumps / "node1" / "dmesg.txt").write_bytes(content("node1/dmesg.txt", 5))
    assert {f.status for f in load().files} == {"known"}
    assert not list((store.path / "staging").iterdir())


@pytest.mark.parametrize("pack", [tar, zipped])
def test_patterns_see_members_as_if_unpacked_where_the_archive_lies(store, dumps, load, pack, tmp_path):
    line = b"toy\nZ S %d n1 gpu 0 x 1\n"
    (dumps / "bmc").mkdir()
    files = {"node1/sel.txt": line % T0, "sel.txt": line % (T0 + 1), "node1/other": line % (T0 + 2)}
    (dumps / "bmc" / "a.bin").write_bytes(pack(files))
    report = load(clock={"sel.txt": "UTC", "bmc/node1/oth*": "UTC"})
    assert [f.status for f in report.files] == ["loaded"] * 3


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_packed_members_are_decompressed_and_archives_within_are_named(store, dumps, load, pack):
    files = {"n1/a.gz": pack(content("n1/a", 4)), "in.tar.gz": pack(tar()), "in.zip": zipped(), "n2/b": 2}
    (dumps / "a.tar.gz").write_bytes(gzip.compress(tar(files)))
    report = load()
    assert [f.status for f in report.files] == ["loaded", "unreadable", "unreadable", "loaded"]
    assert all("inside of an archive" in f.reason for f in report.files[1:3])
    assert report.total("samples") == 6
    assert report.exit_code == 4


def _special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def test_links_devices_and_climbing_paths_are_refused_with_their_reason(store, dumps, load):
    extra = [
        _special("link", tarfile.SYMTYPE, "/etc/passwd"), _special("hard", tarfile.LNKTYPE, "top.txt"),
        _special("dev", tarfile.CHRTYPE), _special("pipe", tarfile.FIFOTYPE),
    ]  # fmt: skip
    files = {"../out.txt": 1, "/etc/abs.txt": 1, "a/../../b": 1, "C:\\x.txt": 1, "ok:1.txt": 1}
    (dumps / "a.tar").write_bytes(tar(files, extra))
    found = {f.path.rpartition("!")[2]: (f.status, f.reason) for f in load().files}
    assert found.pop("ok:1.txt")[0] == "loaded"
    assert {status for status, _ in found.values()} == {"unreadable"}
    told = {name: reason for name, (_, reason) in found.items()}
    assert sum("leads out of the archive" in reason for reason in told.values()) == 4
    assert "link" in told["link"]
    assert "link" in told["hard"]
    assert "device" in told["dev"]
    assert "pipe" in told["pipe"]
    (dumps / "a.tar").unlink()
    (dumps / "b.zip").write_bytes(zipped({"../out.txt": 1, "fine/x": 1}))
    assert sorted(f.status for f in load().files) == ["loaded", "unreadable"]


def test_two_members_of_one_name_are_both_told_of(store, dumps, load):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        for count in (2, 3):
            data = content(f"n{count}", count)
            info = tarfile.TarInfo("x.txt")
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    (dumps / "a.tar").write_bytes(out.getvalue())
    assert [f.path.rpartition("!")[2] for f in load().files] == ["x.txt", "x.txt#2"]
    assert store.sql("select count(*) from samples").row(0) == (5,)


def test_encrypted_and_strangely_packed_zip_members_are_named(store, dumps, load):
    data = bytearray(zipped({"a.txt": 3, "b.txt": 2}))
    for mark, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = data.find(mark)
        data[at + place] |= 1
    (dumps / "a.zip").write_bytes(bytes(data))
    (dumps / "b.zip").write_bytes(zipped({"c.txt": 4}, zipfile.ZIP_LZMA))
    (dumps / "c.xlsx").write_bytes(zipped({"[Content_Types].xml": b"<x/>", "s.xml": b"<x/>"}))
    reasons = [f.reason for f in load().files]
    assert "encrypted" in reasons[0]
    assert reasons[1] == ""
    assert "another method" in reasons[2]
    assert "export" in reasons[3]


def test_a_zip_member_whose_checksum_fails_gives_nothing_and_the_others_stay(store, dumps, load):
    data = bytearray(zipped({"n1/a.txt": 30, "n2/b.txt": 20}, zipfile.ZIP_STORED))
    place = data.find(b"gpu 0")
    data[place : place + 3] = b"nic"
    (dumps / "a.zip").write_bytes(bytes(data))
    report = load()
    assert [(f.status, f.samples) for f in report.files] == [("damaged", 0), ("loaded", 20)]
    assert load(salvage=True).files[0].samples == 30


@pytest.mark.parametrize("cut", [0.5, 0.9])
def test_a_cut_archive_gives_its_whole_lines_and_says_so(store, dumps, load, cut):
    files = {f"n{n}/dump.txt": 200 for n in range(20)}
    data = tar(files)
    (dumps / "a.tar").write_bytes(data[: int(len(data) * cut)])
    report = load()
    assert report.exit_code == 4
    assert report.count("loaded") >= 9
    assert any("cut" in f.reason or "damaged" in f.reason for f in report.files)
    packed = gzip.compress(data)
    (dumps / "a.tar").write_bytes(packed[: int(len(packed) * cut)])
    report = load()
    assert report.exit_code == 4
    assert any("cut inside a member" in f.reason for f in report.files)


def test_a_packed_tar_that_fails_its_checksum_is_not_taken_unless_asked(store, dumps, load):
    packed = bytearray(gzip.compress(tar()))
    packed[-6] ^= 1
    (dumps / "a.tgz").write_bytes(bytes(packed))
    report = load()
    assert [f.status for f in report.files] == ["unreadable"]
    assert "--salvage" in report.files[0].reason
    assert load(salvage=True).total("samples") == 15


def test_bombs_cost_neither_memory_nor_the_disk(store, dumps, load, monkeypatch):
    monkeypatch.setattr(archive, "_ALWAYS", 10_000_000)
    (dumps / "a.tgz").write_bytes(gzip.compress(tar({"zeros": bytes(80_000_000)})))
    (dumps / "b.zip").write_bytes(zipped({"zeros": bytes(80_000_000)}))
    header = tarfile.TarInfo("x")
    header.type, header.size = b"x", 2**40  # extended header of a tebibyte
    (dumps / "c.tar").write_bytes(header.tobuf() + bytes(1024))
    tracemalloc.start()
    report = load()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
    assert {f.path.rpartition("/")[2]: f.status for f in report.files}["a.tgz"] == "unreadable"
    assert any("200 times" in f.reason for f in report.files)
    assert not list((store.path / "staging").iterdir())


def test_members_beyond_the_limit_are_counted_in_one_line(store, dumps, load, monkeypatch):
    monkeypatch.setattr(archive, "MOST_MEMBERS", 2)
    (dumps / "a.tar").write_bytes(tar())
    report = load()
    assert [f.status for f in report.files] == ["loaded", "loaded", "unreadable"]
    assert "more than 2 members" in report.files[2].reason


@pytest.mark.parametrize(
    "junk", [b"PK\3\4" + os.urandom(300), b"PK\5\6" + bytes(18), zipped()[:-40], struct.pack("512x")]
)
def test_what_only_looks_like_an_archive_is_named(tmp_path, dumps, junk):
    (dumps / "a.zip").write_bytes(junk)
    report = wb.open(tmp_path / "s").ingest(dumps, readers=[TOY])
    assert report.files[0].status in ("unreadable", "not recognised")


def test_a_dry_run_looks_into_archives(store, dumps):
    (dumps / "a.tgz").write_bytes(gzip.compress(tar()))
    report = store.ingest(dumps, readers=[TOY], dry_run=True)
    assert [f.status for f in report.files] == ["recognised"] * 3
