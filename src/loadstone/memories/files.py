"""Saved memories: one safetensors file each, written whole or not at all.

The file holds the memory's arrays by name, and its metadata names the family.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from loadstone.arguments import instance_of, path_of, refuse
from loadstone.files import write_whole
from loadstone.given_arrays import array_of
from loadstone.memories.families import from_file, in_file
from loadstone.memories.foreign import refuse_masked
from loadstone.memories.memory import Memory, check_square

_FORMAT = "loadstone memory 1"
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
    # safetensors writes the bytes as they lie, so a transposed or sliced array must be laid out in order first.
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    metadata = {str(key): str(value) for key, value in about.items()} | {"format": _FORMAT, "family": family}
    if all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(memory)):
        metadata[_LIBRARY] = _NUMPY
    try:
        blob = save(tensors, metadata=metadata)
    except SafetensorError as error:
        raise refuse("memory", type(memory).__name__, f"one that a file can hold ({error})") from error
    write_whole(path, lambda file: file.write(blob))


def load_memory(path: str | Path) -> Memory:
    """The memory that `save` wrote to a file.

    Example:
        >>> loadstone.save("w.safetensors", loadstone.initial_memory(4))
        >>> loadstone.load("w.safetensors")
        Full(weights=float32[4, 4])
    """
    metadata, tensors = read_tensors(path, "memory file", "a safetensors file")
    try:
        memory = from_file(metadata.get("family", ""), tensors)
    except ValueError as error:
        why = str(error).rstrip(".")
        raise refuse("memory file", str(path), f"one that holds a memory of its family ({why})") from error
    return jax.tree.map(np.asarray, memory) if metadata.get(_LIBRARY) == _NUMPY else memory


def read_tensors(path: str | Path, what: str, allowed: str) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """The metadata and the arrays of a safetensors file. `what` and `allowed` are for the refusal of any other file."""
    path_of("path", path)
    try:
        with safe_open(str(path), framework="numpy") as file:
            return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise refuse(what, str(path), f"{allowed} ({error})") from error
