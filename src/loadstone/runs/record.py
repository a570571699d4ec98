"""A record: the outcome of one run, and how it is written to disk.

A record has three parts. `spec` says what was run, `result` what came out (the same wherever it is run), and
`circumstances` how it was run (seconds, versions, device). On disk it is one line of header with the schema, the length
of the body and the SHA-256 of both, then the body as JSON: nothing in it can be executed.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Version of the files. This version reads all older ones and refuses newer ones.
SCHEMA = 1
#: No record is longer; a reader checks this before it allocates memory.
MOST_BYTES = 64 * 2**20

_MOST_DEPTH = 20

_write = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True).encode
_HEADER = re.compile(rb"loadstone record (\d{1,6}) (\d{1,9}) ([0-9a-f]{64})\n")
_MOST_HEADER = 120


class DamagedError(ValueError):
    """The bytes are not a valid record; the message says why."""


class NewerSchemaError(ValueError):
    """The record was written by a later version of loadstone."""


@dataclass(frozen=True)
class Record:
    """One run. Its parts hold only what JSON can: words, numbers, lists and dictionaries of them, None.

    key: the hash of the spec, which names the record in a store.
    spec: what was run, as `Spec.identity()` writes it.
    result: what came out; the same wherever it is run.
    circumstances: seconds, versions and device.
    """

    key: str
    spec: dict[str, object]
    result: dict[str, object]
    circumstances: dict[str, object]

    @property
    def diverged(self) -> bool:
        return self.result.get("status") == "diverged"


def key_of(spec: Mapping[str, object]) -> str:
    """The key of the record of a spec, given as `Spec.identity()` writes it."""
    return hashlib.sha256(canonical(spec).encode()).hexdigest()


def to_bytes(record: Record) -> bytes:
    """The record as a file's contents. Numbers that JSON cannot hold become words."""
    parts = {"spec": record.spec, "result": record.result, "circumstances": record.circumstances}
    body = canonical({"key": record.key} | parts).encode()
    if len(body) > MOST_BYTES:
        raise ValueError(f"record is {len(body)} bytes long, but must be at most {MOST_BYTES}.")
    return _header(SCHEMA, body) + body


def from_bytes(content: bytes) -> Record:
    """The record in a file's contents, or a DamagedError if a single byte differs from what was written, or if the key
    is not that of the spec."""
    match = _HEADER.match(content[:_MOST_HEADER])
    if not match:
        raise DamagedError("its header is not that of a record")
    schema, body = int(match[1]), content[match.end() :]
    if match[0] != _header(schema, body):
        raise DamagedError(f"its body of {len(body)} bytes does not match its header")
    if schema < 1:
        raise DamagedError(f"its schema is {schema}, which never was")
    if schema > SCHEMA:
        raise NewerSchemaError(f"its schema is {schema}, but this version of loadstone reads up to {SCHEMA}: update it")
    try:
        parts = json.loads(body, parse_constant=_no_constant, parse_float=_finite)
        _check_depth(parts)
        record = Record(str(parts["key"]), *(dict(parts[name]) for name in ("spec", "result", "circumstances")))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedError(f"its body is not that of a record ({error})") from error
    if record.key != key_of(record.spec):
        raise DamagedError("its key is not the hash of its spec")
    return record


def canonical(value: object) -> str:
    """The one way to write a value as JSON: keys sorted, no spaces, fewest exact digits, NaN and infinity as words."""
    try:
        return _write(value)
    except ValueError:  # some number is not finite: rare, so it is not looked for beforehand
        return _write(_plain(value))


def _header(schema: int, body: bytes) -> bytes:
    digest = hashlib.sha256(b"%d %d\n" % (schema, len(body)) + body).hexdigest()
    return b"loadstone record %d %d %s\n" % (schema, len(body), digest.encode())


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):  # 1e999 is JSON, but no float64
        raise ValueError(f"{digits[:60]} is not finite")
    return number


def _check_depth(value: object) -> None:
    """Refuse deeper nesting: it could be read but not written again, since writing is recursive."""
    level: list[Any] = [value]
    for _ in range(_MOST_DEPTH):
        level = [item for part in level for item in (part.values() if isinstance(part, dict) else part)
                 if isinstance(item, dict | list)]  # fmt: skip
        if not level:
            return
    raise ValueError(f"it is nested more than {_MOST_DEPTH} deep")


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
