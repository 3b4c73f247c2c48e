import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from workbench.figures.text import compact, escape, shorten, visible


@given(st.text())
def test_nothing_hidden_is_left(text):
    assert not [c for c in visible(text) if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")]


@given(st.text())
def test_no_markup_is_left(text):
    assert not set(escape(text)) & set("<>\"'")


def test_unpaired_surrogates_can_be_written_to_a_file():
    assert visible("\ud800x").encode() == "⟨U+D800⟩x".encode()


@given(st.text(min_size=1), st.integers(5, 40))
def test_shortened_text_keeps_its_ends(text, limit):
    short = shorten(text, limit)
    assert len(short) <= max(limit, 1)
    assert short[0] == text[0]
    assert short[-1] == text[-1]


def test_numbers_in_few_characters():
    assert [compact(v) for v in (-0.0, None, 1e-9, 999.4, 1e6, -2.5e9)] == ["0", "–", "1e−9", "999", "1M", "−2.5G"]
