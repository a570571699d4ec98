"""Read arrays from files that may be damaged or hostile: .npz, .npy and safetensors.

Nothing in a file is executed, and no memory is taken for a size that a file states before it is known to be true: an
.npz may hold stored and deflated arrays only, and these expand at most a thousandfold.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from loadstone.free_memory import half_of_free_memory

#: How much deflate can shorten: two bits for 258 equal bytes.
_MOST_DEFLATED = 1032
#: Kinds of numbers, and texts.
_KINDS = "biufcU"
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class _RefusedError(Exception):
    """An array cannot be used; the message says why."""


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
            _check_sizes(wanted, os.fstat(file.fileno()).st_size)
            return {name: _read(archive, name, member) for name, member in wanted.items()}, named.keys() - set(names)


def read_npy(path: str | Path, *, mapped: bool = False) -> np.ndarray:
    """The array of an .npy, or a ValueError that says what is wrong. `mapped`: it stays in the file until used."""
    with open(path, "rb") as file:
        try:
            shape, order, dtype = _header(file, os.fstat(file.fileno()).st_size)
            if mapped and 0 not in shape:
                return np.memmap(file, dtype, "r", file.tell(), shape, order)
            return np.ndarray(shape, dtype, file.read(), order=order)
        except _RefusedError as refusal:
            raise ValueError(f"it {refusal}") from refusal


def tensor(file: Any, name: str) -> np.ndarray:
    """An array of an open safetensors file, or a ValueError if NumPy does not have the type of its numbers."""
    try:
        return file.get_tensor(name)
    except (AttributeError, TypeError) as error:
        kind = file.get_slice(name).get_dtype()
        raise ValueError(f"{name!r} in it has numbers of type {kind}, which NumPy does not have") from error


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


def _check_sizes(members: Mapping[str, zipfile.ZipInfo], size: int) -> None:
    """Refuse arrays that cannot be so large in an archive of this size, or for which there is no memory."""
    for name, member in members.items():
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name!r} in it is compressed in a way that NumPy does not use")
        most = member.compress_size * (_MOST_DEFLATED if member.compress_type == zipfile.ZIP_DEFLATED else 1)
        if member.file_size > most:
            raise ValueError(
                f"{name!r} in it is damaged: {member.compress_size} bytes cannot expand to {member.file_size}"
            )
    if sum(member.compress_size for member in members.values()) > size:
        raise ValueError("it is a damaged archive")
    needed = sum(member.file_size for member in members.values())
    # Whoever reads them makes copies, in float64 or without some rows.
    if needed > (most := half_of_free_memory() // 2):
        raise ValueError(f"its arrays take {needed} bytes, more than a quarter of the free memory, {most}")


def _read(archive: zipfile.ZipFile, name: str, member: zipfile.ZipInfo) -> np.ndarray:
    try:
        with archive.open(member) as file:
            shape, order, dtype = _header(file, member.file_size)
            # A `read` without the number of bytes would expand more than the member states.
            return np.ndarray(shape, dtype, file.read(member.file_size - file.tell()), order=order)
    except MemoryError:
        raise
    except _RefusedError as refusal:
        raise ValueError(f"{name!r} in it {refusal}") from refusal
    except Exception as error:  # a damaged member can make zipfile, zlib or NumPy raise anything
        raise ValueError(f"{name!r} in it is damaged") from error


def _header(file: IO[bytes], size: int) -> tuple[tuple[int, ...], Literal["C", "F"], np.dtype]:
    """Shape, order and type of the array in a file of this size, which is then at its first number."""
    if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
        raise _RefusedError("is not an array")
    try:
        major, minor = file.read(2)
        lengths, columns_first, dtype = _HEADERS[major, minor](file)
    except Exception as error:  # a hostile header can make NumPy and Python's parser raise anything, a MemoryError too
        raise _RefusedError("is damaged: its header is not that of an array") from error
    if dtype.hasobject:
        raise _RefusedError("holds objects, not numbers")
    if dtype.kind not in _KINDS:
        raise _RefusedError(f"holds {dtype.name[:40]}, not numbers")
    shape = tuple(map(int, lengths))  # NumPy takes True for a length
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != size - file.tell():
        raise _RefusedError("is damaged: its size is not that of its shape")
    # An array of no bytes could still have as many rows, or empty words, as it likes.
    if math.prod(max(1, length) for length in shape) > size:
        raise _RefusedError(f"is empty, but of shape {shape}")
    return shape, "F" if columns_first else "C", dtype
