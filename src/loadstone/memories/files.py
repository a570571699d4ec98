"""Saved memories: one safetensors file each, written whole or not at all.

The file holds the memory's arrays by name, and its metadata names the family. The safetensors format has no checksum,
and a changed bit of W would go unnoticed. So the metadata has one, over everything else in the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from loadstone.arguments import instance_of, path_of, refuse
from loadstone.files import Version, write_whole
from loadstone.given_arrays import array_of
from loadstone.memories.families import from_file, in_file
from loadstone.memories.foreign import refuse_masked
from loadstone.memories.memory import Memory, check_square
from loadstone.problems.archive import tensor

#: The first format had no checksum.
_FORMAT = "loadstone memory 2"
_CHECKSUM = "loadstone checksum"
#: The arrays of a memory are of NumPy again if they were. The other library would round W in another way where it is
#: computed from them.
_LIBRARY, _NUMPY = "library", "numpy"


def save_memory(path: str | Path, memory: Memory, *, about: dict[str, object] | None = None) -> None:
    """Write a memory of a known family, with `about` (where it comes from) as metadata.

    Example:
        >>> loadstone.save("w.safetensors", loadstone.initial_memory(4, 0.5), about={"seed": 0})
        >>> loadstone.load("w.safetensors")
        LowRank(left=float32[4, 2], right=float32[4, 2])
    """
    instance_of("memory", memory, Memory, "a memory of a family, such as initial_memory(4)")
    about = instance_of("about", {} if about is None else about, Mapping, "a dictionary of what the file should say")
    refuse_masked(memory)
    family, given = in_file(memory)
    arrays: dict[str, Any] = {name: array_of("memory", array, "one of arrays") for name, array in given.items()}
    try:
        check_square(memory, arrays)
    except (ValueError, AttributeError) as error:
        why = str(error).rstrip(".")
        raise refuse("memory", type(memory).__name__, f"one that a file can hold ({why})") from error
    metadata = {str(key): str(value) for key, value in about.items()} | {"format": _FORMAT, "family": family}
    if all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(memory)):
        metadata[_LIBRARY] = _NUMPY
    try:
        write_tensors(path, arrays, metadata=metadata)
    except SafetensorError as error:
        raise refuse("memory", type(memory).__name__, f"one that a file can hold ({error})") from error


def load_memory(path: str | Path) -> Memory:
    """The memory that `save` wrote to a file.

    Example:
        >>> loadstone.save("w.safetensors", loadstone.initial_memory(4))
        >>> loadstone.load("w.safetensors")
        Full(weights=float32[4, 4])
    """
    metadata, tensors = read_tensors(path, "memory file", "a safetensors file", _FORMAT)
    try:
        if complex_ones := [name for name, array in tensors.items() if array.dtype.kind == "c"]:
            raise ValueError(f"its {complex_ones[0]} are complex")
        memory = from_file(metadata.get("family", ""), tensors)
    except ValueError as error:
        why = str(error).rstrip(".")
        raise refuse("memory file", str(path), f"one that holds a memory of its family ({why})") from error
    return jax.tree.map(np.asarray, memory) if metadata.get(_LIBRARY) == _NUMPY else memory


def write_tensors(
    path: str | Path,
    arrays: Mapping[str, np.ndarray],
    *,
    metadata: Mapping[str, str],
    replacing: Version | None = None,
) -> None:
    """Write arrays and metadata as a safetensors file with a checksum; `replacing` is for `write_whole`."""
    # safetensors writes the bytes as they lie, so a transposed or sliced array must be laid out in order first.
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    words = {key: text for key, text in metadata.items() if key != _CHECKSUM}
    blob = save(tensors, metadata=words | {_CHECKSUM: _checksum(words, tensors)})
    write_whole(path, lambda file: file.write(blob), replacing=replacing)


def read_tensors(
    path: str | Path, what: str, allowed: str, file_format: str
) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """The metadata and the arrays of a safetensors file, which must match their checksum.

    what, allowed: for the refusal of any other file.
    file_format: files of this format must have a checksum. Older ones have none, nor do those of other programs.
    """
    path_of("path", path)
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata, arrays = file.metadata() or {}, {name: tensor(file, name) for name in file.keys()}
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError) as error:
        raise refuse(what, str(path), f"{allowed} ({error})") from error
    stated = metadata.pop(_CHECKSUM, None)
    if stated is None:
        if metadata.get("format") == file_format:
            raise refuse(what, str(path), "undamaged (it has no checksum)")
    elif stated != _checksum(metadata, arrays):
        raise refuse(what, str(path), "undamaged (its contents do not match their checksum)")
    return metadata, arrays


def _checksum(metadata: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> str:
    """The SHA-256 of all words, and of all arrays with their names, types and shapes."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
