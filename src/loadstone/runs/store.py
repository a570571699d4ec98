"""The store: a folder with one file per record, written whole and durably, safe for many writers at once.

    STORE/records/ab/abcdef....record     named by the key of its spec
    STORE/quarantine/                     damaged files, each with a line that says why
    STORE/index.json                      summaries of the records, for speed; may be deleted at any time

A record is acknowledged when `put` returns: its bytes and its name are then on the disk. A reader never sees half a
record, because a file gets its name only when it is complete. A file that does not match its checksum is moved to
quarantine, and its run counts as missing.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

from loadstone.arguments import refuse
from loadstone.runs import index
from loadstone.runs.record import MOST_BYTES, DamagedError, NewerSchemaError, Record, from_bytes, to_bytes
from loadstone.runs.validity import check_values

_KEY = re.compile(r"[0-9a-f]{64}")
#: If a temporary file is older than this, its writer is taken to have died.
_ABANDONED_SECONDS = 3600.0
_MOST_INDEX_BYTES = 2**30
_making_folders = Lock()
_TEMPORARY = re.compile(r"\.(?:[0-9a-f]{64}\.record|probe|index)\.\d+\.\d+\.part")


class Store:
    """Records by key. Every method is safe while other processes read and write the same folder."""

    def __init__(self, folder: str | Path) -> None:
        if str(folder) == "":
            raise refuse("store", "", "the name of a folder")
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"store is {str(folder)!r}, which is a file: give the name of a folder.")
        self.records, self.quarantine = self.folder / "records", self.folder / "quarantine"
        try:
            for path in (self.records, self.quarantine):
                path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(f"store is {str(folder)!r}, which cannot be made: {error.strerror}.") from error

    def check_writable(self) -> None:
        """Refuse, before any long work, a store that cannot take a record."""
        probe = _temporary(self.records / "probe")
        try:
            _write(probe, b"probe")
        except OSError as error:
            raise OSError(f"store is {str(self.folder)!r}, which cannot be written to: {error.strerror}.") from error
        finally:
            with contextlib.suppress(OSError):
                probe.unlink(missing_ok=True)

    def put(self, record: Record) -> None:
        """Write a record; when this returns it is on the disk, complete."""
        path = self._path(record.key)
        content = to_bytes(record)
        with _making_folders:  # no other thread uses a folder before its name is on the disk
            if not path.parent.exists():
                path.parent.mkdir(exist_ok=True)
                _sync_folder(self.records)
        temporary = _temporary(path)
        try:
            _write(temporary, content)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)

    def get(self, key: str) -> Record | None:
        """The record of a key, or None if there is none; a damaged one is moved to quarantine and counts as none."""
        path = self._path(key)
        try:
            return _read(path, key)
        except FileNotFoundError:
            return None
        except NewerSchemaError as newer:
            raise NewerSchemaError(f"{path} cannot be read: {newer}.") from newer
        except DamagedError as damage:
            self._set_aside(path, str(damage), key)
            return None

    def keys(self) -> set[str]:
        """Keys that have a file, damaged or not."""
        return set(self._files())

    def missing(self, keys: list[str]) -> list[str]:
        """The keys that have no file, in the order given."""
        present = self.keys()
        return [key for key in keys if key not in present]

    def quarantined(self) -> list[str]:
        """Why each file in quarantine is there."""
        return [_content(path, 1000).decode(errors="replace").strip() for path in sorted(self.quarantine.glob("*.why"))]

    def summaries(self) -> dict[str, dict[str, dict[str, object]]]:
        """For each record its spec, the short part of its result and its circumstances. Reads only what is new."""
        known = self._index()
        fresh: dict[str, dict] = {}
        for key, path in self._files().items():
            try:
                state = path.stat()
            except FileNotFoundError:
                continue
            entry = known.get(key)
            if entry is None or entry["stamp"] != index.stamp(state):
                record = self.get(key)
                if record is None:
                    continue
                entry = {"stamp": index.stamp(state), "summary": index.summary(record)}
            fresh[key] = entry
        if fresh != known:
            self._write_index(fresh)
        return {key: entry["summary"] for key, entry in fresh.items()}

    def tidy(self) -> int:
        """Remove the unfinished files of writers that died; return how many there were."""
        removed = 0
        for path in self._unfinished():
            try:
                if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                    path.unlink()
                    removed += 1
            except FileNotFoundError:
                continue
        return removed

    def _unfinished(self) -> Iterator[Path]:
        """Temporary files of writers, known by their names, in the folders of the store."""
        for folder in (self.folder, self.records, *map(Path, filter(_is_shard, _entries(self.records)))):
            for entry in _entries(folder):
                if _TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise refuse("key", key, "64 hexadecimal digits")
        return self.folder / place_of(key)

    def _files(self) -> dict[str, Path]:
        paths = {}
        for folder in filter(_is_shard, _entries(self.records)):
            for entry in _entries(folder):
                key = entry.name.removesuffix(".record")
                if entry.name.endswith(".record") and _KEY.fullmatch(key) and key[:2] == folder.name:
                    paths[key] = Path(entry.path)
        return paths

    def _set_aside(self, path: Path, why: str, key: str) -> None:
        name = f"{path.stem}.{time.time_ns()}"
        aside = self.quarantine / f"{name}.damaged"
        try:
            os.replace(path, aside)
        except FileNotFoundError:
            return  # another reader has moved it already
        with contextlib.suppress(DamagedError, OSError):
            _read(aside, key)
            os.replace(aside, path)  # a writer had just replaced the damaged record by a good one
            return
        (self.quarantine / f"{name}.why").write_text(f"{path.name}: {why}.\n")

    def _index(self) -> index.Entries:
        try:
            return index.from_bytes(_content(self.folder / "index.json", _MOST_INDEX_BYTES))
        except (OSError, DamagedError):
            return {}  # it can always be made again

    def _write_index(self, entries: index.Entries) -> None:
        temporary = _temporary(self.folder / "index")
        try:
            temporary.write_bytes(index.to_bytes(entries))
            os.replace(temporary, self.folder / "index.json")
        except OSError:
            temporary.unlink(missing_ok=True)  # a store that cannot be written to can still be read


def place_of(key: str) -> str:
    """The path of a record in its store, relative to the folder of the store."""
    return f"records/{key[:2]}/{key}.record"


def _temporary(path: Path) -> Path:
    """A name in the same folder that no other writer has."""
    return path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}.part")


def _write(path: Path, content: bytes) -> None:
    """Write a new file, durably."""
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path, key: str) -> Record:
    record = from_bytes(_content(path, MOST_BYTES + 1024))
    if record.key != key:
        raise DamagedError(f"it is the record of another key, {record.key}")
    check_values(record)
    return record


def _content(path: Path, most: int) -> bytes:
    """The first bytes of a regular file; others are refused, because reading a pipe could wait for ever."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise DamagedError("it is not a regular file")
    with open(handle, "rb") as file:
        return file.read(most)


def _is_shard(entry: os.DirEntry) -> bool:
    return bool(re.fullmatch("[0-9a-f]{2}", entry.name)) and entry.is_dir(follow_symlinks=False)


def _entries(folder: os.PathLike[str]) -> Iterator[os.DirEntry]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except FileNotFoundError:
        return


def _sync_folder(folder: Path) -> None:
    """Make new names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
