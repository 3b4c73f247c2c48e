"""JSON documents: whole or rejected with their line, whatever the text."""

import io
import json
import math

import pytest

from workbench.readers.jsondoc import documents_of, outer_keys
from workbench.readers.source import Source


def found_in(data: bytes, **more):
    return list(documents_of(Source(io.BytesIO(data)), **more))


def test_pretty_documents_one_after_another():
    wanted = [{"a": [1, {"b": "}"}]}, {"c": "\n"}, [3]]
    data = "\n".join(json.dumps(one, indent=2) for one in wanted).encode()
    assert [one.value for one in found_in(data)] == wanted
    assert [one.line for one in found_in(data)] == [1, 9, 12]


@pytest.mark.parametrize("data", [b"[" * 200_000, b'{"a":' * 100_000, b'{"a": 1', b"nope", b'{"a" 1}', b'"\xff'])
def test_what_is_no_document_is_one_reject(data):
    (one,) = found_in(data)
    assert one.value is None
    assert one.why.startswith("no JSON")


def test_numbers_that_python_refuses_or_floats_cannot_hold():
    data = b'{"n": %s, "e": 1e999, "nan": NaN, "big": 18446744073709551615}' % (b"9" * 10_000)
    value = found_in(data)[0].value
    assert math.isinf(value["n"])
    assert math.isinf(value["e"])
    assert math.isnan(value["nan"])
    assert value["big"] == 2**64 - 1


def test_a_document_over_the_limit_is_refused_not_read():
    (one,) = found_in(b"[" + b"1," * 100 + b"1]", limit=50)
    assert "larger than 50 bytes" in one.why


def test_a_file_of_brackets_is_given_up():
    assert len(found_in(b"[\n" * 1_000_000)) <= 100


def test_keys_of_a_head_that_is_cut_stand_in_its_first_level_only():
    text = b'{"meta": {"inner": "x: {"}, "jobs": [{"id": 1'
    assert outer_keys(text) == {"meta", "jobs"}
    assert outer_keys(b"\xef\xbb\xbf" + text) == {"meta", "jobs"}
    assert outer_keys(b'{"a": 1}\n{"b":') == {"a"}
    assert outer_keys(b"[[[[") == outer_keys(b"text") == outer_keys(b"{\0") == frozenset()
