"""The sample dumps in the repository are what the simulator makes, byte for byte, and stay small."""

import gzip
import hashlib
import io
from pathlib import Path

import pytest
import zstandard

from workbench.simulator.dumps import simulate

SAMPLES = Path(__file__).resolve().parents[2] / "data_samples"


def content(path: Path) -> str:
    """Digest of the content: compressed bytes may differ between versions of a library."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    elif path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read()
    return hashlib.sha256(data).hexdigest()


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def again(tmp_path_factory):
    return simulate(tmp_path_factory.mktemp("again") / "first_incident", seed=7, scenario="first_incident")


def test_first_incident_is_what_its_readme_says_it_is_made_with(again):
    held = SAMPLES / "first_incident"
    assert tuple(sorted(p.relative_to(held).as_posix() for p in held.rglob("*") if p.is_file())) == again.files
    differ = [name for name in again.files if content(held / name) != content(again.path / name)]
    assert differ == []
    assert "--scenario first_incident --hosts 40 --days 2 --seed 7" in (held / "README.txt").read_text()


def test_first_incident_can_answer_its_question(again):
    assert again.truth["episodes"] >= 25
    supported = again.table().filter(again.table()["expected"] == "SUPPORTED")
    assert supported["signal"].to_list() == ["gpu.ecc_sbe_total"]
    assert 0.6 < next(e for e in again.truth["signals"] if e["signal"] == "gpu.ecc_sbe_total")["share_planted"] < 0.9


def test_samples_stay_small():
    assert size(SAMPLES / "first_incident") < 12_000_000
    assert size(SAMPLES) < 20_000_000
