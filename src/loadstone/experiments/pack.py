"""One file for a whole store: a zip of its records, which other tools can read too.

    records/ab/abcdef....record     as in the store
    loadstone-store.json            {"form":1,"records":17}

The comment of the zip is the SHA-256 of the file with zeros in the comment's place, so no changed byte goes unseen. The
same store gives the same bytes. Its quarantine and its index stay behind.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from loadstone.experiments.record import canonical, to_bytes
from loadstone.experiments.store import Store
from loadstone.files import write_whole

#: Form of the files. Readers refuse newer ones.
FORM = 1
#: The member that says what the file is.
ABOUT = "loadstone-store.json"
#: No packed store holds more: a reader checks before it allocates.
MOST_RECORDS, MOST_TOTAL_BYTES = 1_000_000, 64 * 2**30
#: What the comment is while the checksum is made.
NO_CHECKSUM = b"0" * 64


@dataclass(frozen=True)
class Packed:
    """How many records were packed, and how many were damaged and set aside instead."""

    records: int
    damaged: int


def pack(store: Store, path: str | Path) -> Packed:
    """Write all records of a store to one file."""
    keys = sorted(store.keys())
    if len(keys) > MOST_RECORDS:
        raise ValueError(f"store has {len(keys)} records, but must have at most {MOST_RECORDS} to be packed.")
    packed = 0

    def write(file: IO[bytes]) -> None:
        nonlocal packed
        with zipfile.ZipFile(file, "w") as archive:
            packed = _add_records(archive, store, keys)
            # Last, because damage is seen only while reading.
            _add(archive, ABOUT, canonical({"form": FORM, "records": packed}).encode())
            archive.comment = NO_CHECKSUM
        file.flush()
        with open(file.name, "rb") as written:
            found = checksum(written)
        file.seek(-len(NO_CHECKSUM), os.SEEK_END)
        file.write(found)

    write_whole(path, write)
    return Packed(packed, len(keys) - packed)


def checksum(file: IO[bytes]) -> bytes:
    """SHA-256 of a file whose last 64 bytes are taken for zeros; the file is left in front of them."""
    left = file.seek(0, os.SEEK_END) - len(NO_CHECKSUM)
    file.seek(0)
    digest = hashlib.sha256()
    while left > 0 and (piece := file.read(min(left, 2**20))):
        digest.update(piece)
        left -= len(piece)
    digest.update(NO_CHECKSUM)
    return digest.hexdigest().encode()


def _add_records(archive: zipfile.ZipFile, store: Store, keys: list[str]) -> int:
    count = total = 0
    for key in keys:
        record = store.get(key)
        if record is None:
            continue
        content = to_bytes(record)
        count, total = count + 1, total + len(content)
        if total > MOST_TOTAL_BYTES:
            raise ValueError(f"store has over {MOST_TOTAL_BYTES} bytes of records, which is too much to be packed.")
        _add(archive, f"records/{key[:2]}/{key}.record", content)
    return count


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    member.create_system, member.external_attr = 3, (stat.S_IFREG | 0o644) << 16  # the same on every system
    archive.writestr(member, content, zipfile.ZIP_DEFLATED, compresslevel=6)
