"""A whole store as one file, and back: a zip of its records with their SHA-256 sums, which other tools can read.

    records/ab/abcdef....record     as in the store
    manifest.json                   {"format":2,"number":17,"records":{"records/ab/abcdef....record":"<sum>",...}}

The same store gives the same bytes. Nothing in a packed file is trusted: no name in it becomes a path, no size that it
states is believed, and the store is changed only after every record was read and matched the manifest. Everything else
in a zip (dates, attributes, comments, bytes around its members) is ignored, so it cannot change a record.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import stat
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple, Self

from loadstone.files import write_whole
from loadstone.runs.record import (
    MOST_BYTES,
    DamagedError,
    NewerSchemaError,
    Record,
    canonical,
    from_bytes,
    to_bytes,
)
from loadstone.runs.store import Store, place_of
from loadstone.runs.validity import check_values

#: Format 1, written by version 0.1, had no manifest and can no longer be read.
FORMAT = 2
MANIFEST = "manifest.json"
#: A packed store holds at most this much, so that a reader can refuse a larger one before it allocates memory.
MOST_RECORDS, MOST_TOTAL_BYTES = 1_000_000, 64 * 2**30
#: Most bytes that a record takes in the manifest, and in the zip's list of members.
_ENTRY_BYTES = 160
_MOST_LIST_BYTES = _ENTRY_BYTES * MOST_RECORDS


class Packed(NamedTuple):
    """How many records were packed, and how many were damaged and moved to quarantine instead."""

    records: int
    damaged: int


class Unpacked(NamedTuple):
    """How many records are new in the store, and how many it already had and kept."""

    added: int
    already_there: int


def pack(store: Store, path: str | Path) -> Packed:
    """Write all records of a store to one file."""
    keys, sums = sorted(store.keys()), {}

    def write(file: IO[bytes]) -> None:
        total = 0
        with zipfile.ZipFile(file, "w") as archive:
            for record in filter(None, map(store.get, keys)):
                content, name = to_bytes(record), place_of(record.key)
                sums[name], total = hashlib.sha256(content).hexdigest(), total + len(content)
                _check_size("store", len(sums), total)
                _add(archive, name, content)
            _add(archive, MANIFEST, canonical(_manifest(sums)).encode())

    write_whole(path, write)
    return Packed(len(sums), len(keys) - len(sums))


def unpack(path: str | Path, store: Store) -> Unpacked:
    """Add the records of a packed file to a store, which keeps those that it has. A refused file changes nothing."""
    number, added = check_packed(path), 0
    for record in packed_records(path):
        with contextlib.suppress(NewerSchemaError):  # the store has one from a later version: keep it
            if store.get(record.key) is None:
                store.put(record)
                added += 1
    return Unpacked(added, number - added)


def check_packed(path: str | Path) -> int:
    """How many records a packed file holds. All are read; a ValueError says what is wrong with the file."""
    return sum(1 for _ in packed_records(path, writable=True))


def packed_records(path: str | Path, writable: bool = False) -> Iterator[Record]:
    """The records of a packed file, verified one at a time; `writable`: also check that the store can write them."""
    with _opened(path) as (archive, members):
        for member, checksum in members:
            with _said_of(path, member):
                record = _record(archive, member, checksum)
                if writable:
                    to_bytes(record)  # raises if it cannot be written again, before the store is touched
            yield record


class PackedStore:
    """The records of packed files, each read and verified when its key is asked for. Close it, or use it in a `with`.

    If several files hold a record, it is read from the first of them.
    """

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self._places: dict[str, tuple[Path, zipfile.ZipFile, zipfile.ZipInfo, str]] = {}
        with contextlib.ExitStack() as files:  # closes all if one of them is refused
            for path in map(Path, paths):
                archive, members = files.enter_context(_opened(path))
                for member, checksum in members:
                    self._places.setdefault(member.orig_filename, (path, archive, member, checksum))
            self._files = files.pop_all()

    def get(self, key: str) -> Record | None:
        """The record of a key; None if there is none, or if it has a value that no run can have."""
        if (place := self._places.get(place_of(key))) is None:
            return None
        path, archive, member, checksum = place
        with _said_of(path, member):
            record = _record(archive, member, checksum)
        try:
            check_values(record)
        except DamagedError:
            return None
        return record

    def keys(self) -> set[str]:
        return {Path(place).stem for place in self._places}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()


@contextlib.contextmanager
def _opened(path: str | Path) -> Iterator[tuple[zipfile.ZipFile, list[tuple[zipfile.ZipInfo, str]]]]:
    """Open a packed file, and yield it with the member of each record and its checksum."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not a file: give the name of a packed store.")
    with contextlib.ExitStack() as files:
        with _said_of(path):
            archive = files.enter_context(zipfile.ZipFile(files.enter_context(_BoundedFile(path))))
            members = list(_members(archive))
        yield archive, members


@contextlib.contextmanager
def _said_of(path: str | Path, member: zipfile.ZipInfo | None = None) -> Iterator[None]:
    """Turn any error that a hostile file causes in zipfile, zlib or the JSON parser into one sentence about it."""
    try:
        yield
    except Exception as error:
        where = f"{member.orig_filename[:100]!r} in it cannot be read: " if member else ""
        reason = str(error)[:300].rstrip(".") or type(error).__name__
        raise ValueError(f"{path} cannot be unpacked: {where}{reason}.") from error


def _record(archive: zipfile.ZipFile, member: zipfile.ZipInfo, checksum: str) -> Record:
    content = _content(archive, member, MOST_BYTES + 1024)
    if hashlib.sha256(content).hexdigest() != checksum:
        raise ValueError("it does not match its SHA-256 sum in the manifest")
    if member.orig_filename != place_of((record := from_bytes(content)).key):
        raise ValueError("it is not named after its key")
    return record


def _members(archive: zipfile.ZipFile) -> Iterator[tuple[zipfile.ZipInfo, str]]:
    """The member of each record with its checksum, if the members are exactly those that the manifest lists."""
    members = archive.infolist()
    _check_size("it", len(members) - 1, sum(member.file_size for member in members[:-1]))  # the last is the manifest
    names = [member.orig_filename for member in members]  # zipfile cuts `filename` at a zero byte
    if MANIFEST not in names:
        raise ValueError(f"it has no {MANIFEST} (a store packed by loadstone 0.1 must be unpacked by that version)")
    match manifest := json.loads(_content(archive, members[names.index(MANIFEST)], _ENTRY_BYTES * len(members))):
        case {"format": int(newer)} if newer > FORMAT:
            raise ValueError(f"its format is {newer}, but this version of loadstone reads only {FORMAT}: update it")
        case {"records": dict(sums)} if manifest == _manifest(sums) and names == [*sums, MANIFEST]:
            return zip(members, sums.values())
    raise ValueError(f"its {MANIFEST} does not list exactly the records that it holds")


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """The bytes of a member, up to the size that it states; anything beyond is ignored."""
    if member.compress_type != zipfile.ZIP_DEFLATED:  # zipfile does not inflate other types in bounded pieces
        raise ValueError("it is compressed in a way that no packed store uses")
    if member.file_size > most:
        raise ValueError(f"it states {member.file_size} bytes, but must have at most {most}")
    with archive.open(member) as stream:
        return stream.read(member.file_size)


def _manifest(sums: dict[str, str]) -> dict[str, object]:
    return {"format": FORMAT, "number": len(sums), "records": sums}


def _check_size(what: str, records: int, size: int) -> None:
    most = f"{MOST_RECORDS} records of {MOST_TOTAL_BYTES} bytes in all"
    if records > MOST_RECORDS or size > MOST_TOTAL_BYTES:
        raise ValueError(f"{what} has {records} records of {size} bytes, but must have at most {most}.")


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name)  # dated 1980, whenever it is written
    member.create_system, member.external_attr = 3, (stat.S_IFREG | 0o644) << 16  # the same on every system
    archive.writestr(member, content, zipfile.ZIP_DEFLATED, compresslevel=9)


class _BoundedFile(io.FileIO):
    """A file that refuses to be read in large pieces: zipfile would read a list of members of any size it states."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > _MOST_LIST_BYTES:
            raise ValueError(f"its list of members is {size} bytes long, but must be at most {_MOST_LIST_BYTES}")
        return super().read(size)
