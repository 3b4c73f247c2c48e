import polars as pl
import pytest
from fakestore import HOSTILE, shared_store
from hypothesis import given
from hypothesis import strategies as st

from workbench.panel.view import as_list, as_moment, as_name, as_text, look


@pytest.fixture(scope="module")
def store():
    return shared_store()


@pytest.mark.parametrize("text", [HOSTILE, "it's", "'; drop table events; --", "\\", "\n", "%_", ""])
def test_literals_come_back_as_they_were(store, text):
    assert store.sql(f"select {as_text(text)} as one, {as_list([text, text])} as many").row(0) == (text, [text, text])


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20))
def test_any_text_is_a_literal(text):
    quoted = as_text(text)
    assert quoted[1:-1].replace("''", "'") == text
    assert quoted[1:-1].replace("''", "").count("'") == 0


def test_names_and_moments(store):
    odd = 'odd "name"'
    assert store.sql(f"select 1 as {as_name(odd)}").columns == [odd]
    moment = 1_772_323_200_123_456
    assert store.sql(f"select epoch_us({as_moment(moment)}) as ts")["ts"][0] == moment


def test_a_view_gives_its_table_again_from_its_own_text(store):
    view = look(store, "hot", "select entity, max(temperature_c) as most from gpu group by all order by all")
    assert isinstance(view.table(), pl.DataFrame)
    assert store.sql(view.sql).equals(view.frame)
    assert eval(view.code, {"store": store}).equals(view.frame)
