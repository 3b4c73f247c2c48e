import pytest
from fakestore import incident, shared_store
from verdicts import verdict

import workbench as wb
from workbench.errors import NothingToDoError, UsageError
from workbench.reports.verify import verify


@pytest.fixture(scope="module", params=["html", "md"])
def page(request, tmp_path_factory):
    to = tmp_path_factory.mktemp("page") / f"case.{request.param}"
    return wb.write_up(shared_store(), incident=incident(), verdicts=[verdict()], to=to)


def test_as_written(page):
    found = verify(page)
    assert found.unaltered
    assert "as it was written" in found.sentence
    assert found.facts["store"] == {"name": "case-042", "version": "7"}


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b.replace(b"SUPPORTED", b"REFUTED  ", 1),
        lambda b: b.replace(b"34 incidents", b"35 incidents", 1),
        lambda b: b + b" ",
        lambda b: b.replace(b'"seed":7', b'"seed":8', 1),
        lambda b: b[:-30],
    ],
    ids=["a word", "a number", "a space at the end", "the data", "the end cut off"],
)
def test_any_change_is_found(page, tmp_path, change):
    other = tmp_path / page.name
    other.write_bytes(change(page.read_bytes()))
    assert other.read_bytes() != page.read_bytes()
    found = verify(other)
    assert not found.unaltered
    assert "not as it was written" in found.sentence


def test_a_digest_elsewhere_in_the_page_does_not_count(page, tmp_path):
    other = tmp_path / page.name
    other.write_bytes(b"<!-- hello -->" + page.read_bytes())
    with pytest.raises(UsageError, match="does not begin as a write-up"):
        verify(other)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "x.html").write_text("<html>")
    with pytest.raises(UsageError):
        verify(tmp_path / "x.html")
    with pytest.raises(NothingToDoError):
        verify(tmp_path / "none.html")
