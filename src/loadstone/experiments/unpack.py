"""A packed store back into a store, however hostile the file.

A file from elsewhere is trusted in nothing: no name in it becomes a path, no size in it is believed, and the store is
touched only after every record was verified. The checksum tells damage from dishonesty; safety does not rest on it.
"""

from __future__ import annotations

import copy
import io
import json
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loadstone.experiments.pack import ABOUT, FORM, MOST_RECORDS, MOST_TOTAL_BYTES, NO_CHECKSUM, checksum
from loadstone.experiments.record import MOST_BYTES, DamagedError, NewerSchemaError, Record, from_bytes, to_bytes
from loadstone.experiments.store import Store

_NAME = re.compile(r"records/([0-9a-f]{2})/(\1[0-9a-f]{62})\.record")
#: A record with its line of header; the member that says what the file is.
_MOST_RECORD_BYTES, _MOST_ABOUT_BYTES = MOST_BYTES + 1024, 1000
#: The list of members at the end of a zip takes about 130 bytes for each record.
_MOST_LIST_BYTES = 160 * MOST_RECORDS


@dataclass(frozen=True)
class Unpacked:
    """How many records are new in the store, and how many it had and kept."""

    added: int
    already_there: int


def unpack(path: str | Path, store: Store) -> Unpacked:
    """Add the records of a packed file to a store; those that it has are kept. A refused file changes nothing."""
    check_packed(path)
    added = there = 0
    for record in _records(path):
        if _has(store, record.key):
            there += 1
        else:
            store.put(record)
            added += 1
    return Unpacked(added, there)


def check_packed(path: str | Path) -> int:
    """Verify a packed file to its last record, or raise a ValueError that says what is wrong; how many records."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not a file: give the name of a packed store.")
    try:
        with open(path, "rb") as file:
            if file.seek(0, os.SEEK_END) < len(NO_CHECKSUM) or checksum(file) != file.read():
                raise ValueError("it is damaged or no packed store, since its contents do not match its checksum")
        # A record that could not be written again is refused here, and not halfway through writing.
        return sum(1 for record in _records(path) if to_bytes(record))
    except MemoryError:
        raise
    except Exception as error:  # whatever a hostile file makes zipfile, zlib or the JSON parser raise
        raise ValueError(f"{path} cannot be unpacked: {str(error) or type(error).__name__}.") from error


class _CarefulFile(io.FileIO):
    """A file of which no large piece is read at once: zipfile reads a list of members of whatever size a zip states."""

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, os.fstat(self.fileno()).st_size - self.tell())
        size = left if size is None or size < 0 else min(size, left)
        if size > _MOST_LIST_BYTES:
            raise ValueError(f"its list of members is {size} bytes long, but must be at most {_MOST_LIST_BYTES}")
        return super().read(size)


def _records(path: str | Path) -> Iterator[Record]:
    """Every record in a packed file, each verified."""
    with _CarefulFile(path) as file, zipfile.ZipFile(file) as archive:
        members = _members(archive.infolist())
        if ABOUT not in members:
            raise ValueError(f"it has no {ABOUT}")
        _check_about(_content(archive, members.pop(ABOUT), _MOST_ABOUT_BYTES), len(members))
        for name, member in members.items():
            yield _record(name, _content(archive, member, _MOST_RECORD_BYTES))


def _members(found: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """The members by name, if all have names, kinds and sizes that a packed store can have."""
    if len(found) > MOST_RECORDS + 1:
        raise ValueError(f"it has {len(found)} members, but must have at most {MOST_RECORDS + 1}")
    if (total := sum(member.file_size for member in found)) > MOST_TOTAL_BYTES:
        raise ValueError(f"it states {total} bytes of records, but must have at most {MOST_TOTAL_BYTES}")
    members = {}
    for member in found:
        name = member.orig_filename  # zipfile cuts the other one at a zero byte
        if name != ABOUT and not _NAME.fullmatch(name):
            raise ValueError(f"it holds {name[:100]!r}, which is not the name of a record")
        if name in members:
            raise ValueError(f"it holds {name} twice")
        if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
            raise ValueError(f"{name} in it is not a plain file")
        # zipfile inflates these two a bounded piece at a time, others at once.
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} in it is compressed in a way that no packed store uses")
        members[name] = member
    return members


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """The bytes of a member, which must be as many as it states and not more than `most`."""
    name, stated = member.orig_filename, member.file_size
    if stated > most:
        raise ValueError(f"{name} in it states {stated} bytes, but must have at most {most}")
    # zipfile silently cuts a stream at the stated size, so that one that goes on would not be noticed.
    roomier = copy.copy(member)
    roomier.file_size = stated + 1
    with archive.open(roomier) as stream:
        content = stream.read(stated + 1)
    if len(content) != stated:
        raise ValueError(f"{name} in it does not have the {stated} bytes that it states")
    return content


def _check_about(content: bytes, records: int) -> None:
    about = json.loads(content)
    if not isinstance(about, dict) or type(about.get("form")) is not int or about["form"] < 1:
        raise ValueError(f"{ABOUT} in it states no form")
    if about["form"] > FORM:
        raise ValueError(f"its form is {about['form']}, but this version of loadstone reads up to {FORM}: update it")
    if about.get("records") != records:
        raise ValueError(f"it states {about.get('records')!r} records, but holds {records}")


def _record(name: str, content: bytes) -> Record:
    try:
        record = from_bytes(content)
    except (DamagedError, NewerSchemaError) as error:
        raise ValueError(f"{name} in it cannot be read, since {error}") from error
    if record.key != _NAME.fullmatch(name)[2]:
        raise ValueError(f"{name} in it is the record of another key")
    return record


def _has(store: Store, key: str) -> bool:
    try:
        return store.get(key) is not None
    except NewerSchemaError:
        return True  # a later version can read it
