"""A record comes back as it was, or not at all."""

import hashlib
import json
import math
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.runs.record import (
    MOST_BYTES,
    DamagedError,
    NewerSchemaError,
    Record,
    _header,
    canonical,
    from_bytes,
    key_of,
    to_bytes,
)

SPEC = {"d": 20, "kappa": 0.1}
RECORD = Record(key_of(SPEC), SPEC, {"loss": 1 / 3, "trace": [0.1, 2e-308], "status": "diverged"}, {"s": 1})
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(*[st.dictionaries(st.text(max_size=5), plain, max_size=4)] * 3)
def test_round_trip_to_the_last_bit(spec, result, circumstances):
    record = Record(key_of(spec), spec, result, circumstances)
    assert from_bytes(to_bytes(record)) == record


def test_truncated_at_every_length():
    content = to_bytes(RECORD)
    for length in range(len(content)):
        with pytest.raises(DamagedError):
            from_bytes(content[:length])
    with pytest.raises(DamagedError):
        from_bytes(content + b" ")


def test_every_byte_flipped_in_every_way():
    content = to_bytes(RECORD)
    for place in range(len(content)):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            with pytest.raises(DamagedError):
                from_bytes(bytes(flipped))


def test_a_schema_before_the_first_is_damage():
    body = to_bytes(RECORD).split(b"\n", 1)[1]
    with pytest.raises(DamagedError, match="its schema is 0, which never was"):
        from_bytes(_header(0, body) + body)


def test_a_newer_schema_is_refused_and_not_taken_for_damage():
    body = to_bytes(RECORD).split(b"\n", 1)[1]
    content = _header(2, body) + body
    with pytest.raises(
        NewerSchemaError, match="its schema is 2, but this version of loadstone reads up to 1: update it"
    ):
        from_bytes(content)


def test_numbers_beyond_json_become_words():
    record = Record(key_of({}), {}, {"loss": math.nan, "top": [math.inf, -math.inf]}, {})
    assert from_bytes(to_bytes(record)).result == {"loss": "nan", "top": ["inf", "-inf"]}


def test_canonical_has_one_form():
    assert (
        canonical({"b": 1, "a": [0.1, 1e300]}) == '{"a":[0.1,1e+300],"b":1}' == canonical({"a": (0.1, 1e300), "b": 1})
    )
    assert json.loads(canonical({"ü": "\u2028"})) == {"ü": "\u2028"}


def test_diverged_is_kept_as_such():
    assert RECORD.diverged and not Record("ab" * 32, {}, {"status": "step limit"}, {}).diverged


def test_a_key_is_the_hash_of_the_spec():
    assert key_of({"b": 1, "a": 0.5}) == hashlib.sha256(b'{"a":0.5,"b":1}').hexdigest()
    for other in (Record("ab" * 32, SPEC, {}, {}), Record(RECORD.key, SPEC | {"d": 21}, {}, {})):
        with pytest.raises(DamagedError, match="its key is not the hash of its spec"):
            from_bytes(to_bytes(other))


def test_a_body_too_deep_to_be_written_again_is_damaged():
    body = canonical({"key": "k", "spec": {}, "result": {}, "circumstances": {}})
    deep = body.replace('"result":{}', '"result":{"a":' + "[" * 600 + "]" * 600 + "}").encode()
    with pytest.raises(DamagedError, match="nested more than 20 deep"):
        from_bytes(_header(1, deep) + deep)


def signed(text):
    body = text.encode()
    return _header(1, body) + body


BODY = '{"key":"' + key_of({}) + '","spec":{},"result":{"loss":%s},"circumstances":{}}'


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_a_signed_record_holds_no_number_that_is_not_finite(number):
    assert from_bytes(signed(BODY % "1e308")).result == {"loss": 1e308}
    with pytest.raises(DamagedError, match="its body is not that of a record .*(is not JSON|is not finite)"):
        from_bytes(signed(BODY % number))


@pytest.mark.parametrize("text", [
    "[]", "3", '{"key":"k","spec":{},"result":{}}', '{"key":"k","spec":3,"result":{},"circumstances":{}}',
    '{"spec":{},"result":{},"circumstances":{}}', "{", BODY % ("1" * 5000),
])  # fmt: skip
def test_a_signed_body_that_is_no_record(text):
    with pytest.raises(DamagedError, match="its body is not that of a record"):
        from_bytes(signed(text))


def test_depth_and_length_have_limits_that_are_kept(monkeypatch):
    """What is 20 deep can be read and written; a body may have as many bytes as the limit and not one more."""
    deep = "[" * 18 + "]" * 18  # in a list of parts, in a result
    assert from_bytes(signed(BODY % deep)).result["loss"] == json.loads(deep)
    with pytest.raises(DamagedError, match="nested more than 20 deep"):
        from_bytes(signed(BODY % f"[{deep}]"))
    length = len(to_bytes(RECORD)) - len(to_bytes(RECORD).split(b"\n")[0]) - 1
    monkeypatch.setattr("loadstone.runs.record.MOST_BYTES", length)
    assert from_bytes(to_bytes(RECORD)) == RECORD
    monkeypatch.setattr("loadstone.runs.record.MOST_BYTES", length - 1)
    with pytest.raises(ValueError, match=f"record is {length} bytes long, but must be at most {length - 1}"):
        to_bytes(RECORD)


def test_the_bytes_of_a_record_are_what_they_always_were():
    """Older records must stay readable, and keys are made of the same canonical JSON."""
    content = to_bytes(Record("k", {"b": 1, "a": 0.5}, {}, {"é": None}))
    body = b'{"circumstances":{"\\u00e9":null},"key":"k","result":{},"spec":{"a":0.5,"b":1}}'
    digest = hashlib.sha256(b"1 %d\n" % len(body) + body).hexdigest().encode()
    assert content == b"loadstone record 1 %d %s\n" % (len(body), digest) + body


def test_a_record_cannot_be_changed_and_has_a_known_limit():
    with pytest.raises(FrozenInstanceError):
        RECORD.key = "other"
    assert MOST_BYTES == 64 * 2**20
