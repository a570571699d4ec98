"""The index of a store: summaries of its records, so that a table of them need not read them all.

Nothing rests on it. Its checksum tells one that was damaged or edited, and each entry is only as good as the stamp of
its record's file: its size and times. Nobody can choose the time at which the system notes a change, so an index that
came with a store from elsewhere matches no file. What does not match is made again from the records.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping

from loadstone.runs.record import DamagedError, Record, canonical, key_of
from loadstone.runs.validity import check_parts

_FORM = 2
_START = re.compile(rb'\{"sha256":"([0-9a-f]{64})","index":')
#: A summary of a record and the stamp of its file, by key.
Entries = dict[str, dict]


def stamp(state: os.stat_result) -> list[int]:
    """What changes when a file is written."""
    return [state.st_size, state.st_mtime_ns, state.st_ctime_ns]


def summary(record: Record) -> dict[str, dict[str, object]]:
    """A record without its lists: traces, spectra and histograms."""
    short = {name: value for name, value in record.result.items() if not isinstance(value, list | dict)}
    return {"spec": record.spec, "result": short, "circumstances": record.circumstances}


def to_bytes(entries: Mapping[str, Mapping]) -> bytes:
    """The index as the contents of a file."""
    body = canonical({"form": _FORM, "entries": dict(entries)}).encode()
    return b'{"sha256":"%s","index":%s}' % (hashlib.sha256(body).hexdigest().encode(), body)


def from_bytes(content: bytes) -> Entries:
    """The entries of an index that `to_bytes` wrote; none if it was changed, or has another form."""
    start = _START.match(content)
    body = content[start.end() : -1] if start else b""
    if start is None or hashlib.sha256(body).hexdigest().encode() != start[1]:
        return {}
    try:
        index = json.loads(body)
        entries = index["entries"] if index["form"] == _FORM else {}
        return {key: entry for key, entry in entries.items() if _is_entry(key, entry)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _is_entry(key: str, entry: object) -> bool:
    """Whether a record can have this entry, whoever made the checksum."""
    if not isinstance(entry, dict) or entry.keys() != {"stamp", "summary"} or not isinstance(entry["summary"], dict):
        return False
    parts = entry["summary"]
    if parts.keys() != {"spec", "result", "circumstances"} or not all(
        isinstance(part, dict) for part in parts.values()
    ):
        return False
    try:
        check_parts(**parts)
    except DamagedError:
        return False
    return key == key_of(parts["spec"])
