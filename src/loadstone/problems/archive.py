"""Read arrays from an .npz that may be damaged or hostile: nothing in it is executed, and sizes are checked first."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import IO

import numpy as np

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class _RefusedError(Exception):
    """A member cannot be used; the message says why."""


def read_archive(path: str | Path, names: Collection[str]) -> tuple[dict[str, np.ndarray], set[str]]:
    """The named arrays that an .npz has, and the names of its other arrays; or a ValueError that says what is wrong.

    Only the named arrays are read, and their stated sizes are checked before they are unpacked.
    """
    with open(path, "rb") as file:
        try:
            archive = zipfile.ZipFile(file)
        except Exception as error:  # a damaged or hostile file can make zipfile raise anything
            raise ValueError(_what_else(path)) from error
        with archive:
            members = archive.infolist()
            named = {member.filename.removesuffix(".npy"): member for member in members}  # some writers leave .npy out
            if len(named) != len(members):
                raise ValueError("two of its arrays have the same name")
            wanted = {name: member for name, member in named.items() if name in names}
            _check_size(wanted.values())
            return {name: _read(archive, name, member) for name, member in wanted.items()}, named.keys() - set(names)


def _what_else(path: str | Path) -> str:
    with open(path, "rb") as file:
        start = file.read(512)
    if start.startswith(np.lib.format.MAGIC_PREFIX):
        return "it is a single array, not an archive of arrays"
    if start.startswith(b"PK"):
        return "it is a damaged archive"
    return "it is text, not an archive of arrays" if _is_text(start) else "it is not an archive of arrays"


def _is_text(start: bytes) -> bool:
    return start.strip() != b"" and b"\0" not in start and all(byte >= 32 or byte in b"\t\r\n\f" for byte in start)


def _check_size(members: Iterable[zipfile.ZipInfo]) -> None:
    needed = sum(member.file_size for member in members)
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > free:
        raise ValueError(f"its arrays take {needed} bytes, but only {free} are free")


def _read(archive: zipfile.ZipFile, name: str, member: zipfile.ZipInfo) -> np.ndarray:
    try:
        with archive.open(member) as file:
            return _array(file, member.file_size)
    except MemoryError:
        raise
    except _RefusedError as refusal:
        raise ValueError(f"{name!r} in it {refusal}") from refusal
    except Exception as error:  # a damaged member can make zipfile, zlib or NumPy raise anything
        raise ValueError(f"{name!r} in it is damaged") from error


def _array(file: IO[bytes], size: int) -> np.ndarray:
    if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
        raise _RefusedError("is not an array")
    major, minor = file.read(2)
    read_header = _HEADERS[major, minor]
    shape, columns_first, dtype = read_header(file)
    if dtype.hasobject:
        raise _RefusedError("holds objects, not numbers")
    # Before anything of the stated shape is allocated.
    if math.prod(shape) * dtype.itemsize != size - file.tell():
        raise _RefusedError("is damaged: its size is not that of its shape")
    return np.ndarray(shape, dtype, file.read(), order="F" if columns_first else "C")
