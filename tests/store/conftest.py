"""Shared by the tests of the store."""

import pytest
from toyreader import TOY

import workbench as wb

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z


def dump(path, *lines):
    """Write a dump in the toy format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("toy\n" + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def make_store(tmp_path_factory):
    """Make a store of one dump, for tests that only read it."""

    def make(*lines):
        folder = tmp_path_factory.mktemp("made")
        store = wb.open(folder / "store")
        store.ingest(dump(folder / "dump", *lines), readers=[TOY])
        return store

    return make


@pytest.fixture
def store(tmp_path):
    return wb.open(tmp_path / "store")


@pytest.fixture
def dumps(tmp_path):
    folder = tmp_path / "dumps"
    folder.mkdir()
    return folder


@pytest.fixture
def write(dumps):
    """Write a dump in the toy format; gives its path."""

    def make(name, *lines):
        return dump(dumps / name, *lines)

    return make


@pytest.fixture
def load(store, dumps):
    """Ingest the dumps written so far, or the paths named."""

    def make(paths=None, **stated):
        return store.ingest(dumps if paths is None else paths, readers=[TOY], **stated)

    return make
