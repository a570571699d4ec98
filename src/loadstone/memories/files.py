"""Saved memories: one safetensors file each, written whole or not at all.

The file holds the memory's arrays by name, and its metadata names the family.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from loadstone.arguments import refuse
from loadstone.files import write_whole
from loadstone.memories.families import from_file, in_file
from loadstone.memories.memory import Memory, check_square
from loadstone.problems.archive import tensor

_FORMAT = "loadstone memory 1"


def save_memory(path: str | Path, memory: Memory, *, about: dict[str, object] | None = None) -> None:
    """Write a memory of a known family, with `about` (where it comes from) as metadata.

    Example:
        >>> loadstone.save("w.safetensors", loadstone.initial_memory(4, 0.5), about={"seed": 0})
        >>> loadstone.load("w.safetensors")
        LowRank(left=float32[4, 2], right=float32[4, 2])
    """
    family, arrays = in_file(memory)
    try:
        check_square(memory, arrays)
    except ValueError as error:
        why = str(error).rstrip(".")
        raise refuse("memory", type(memory).__name__, f"one that a file can hold ({why})") from error
    # safetensors writes the bytes as they lie, so a transposed or sliced array must be laid out in order first.
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    metadata = {key: str(value) for key, value in (about or {}).items()} | {"format": _FORMAT, "family": family}
    blob = save(tensors, metadata=metadata)
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
        if complex_ones := [name for name, array in tensors.items() if array.dtype.kind == "c"]:
            raise ValueError(f"its {complex_ones[0]} are complex")
        return from_file(metadata.get("family", ""), tensors)
    except ValueError as error:
        why = str(error).rstrip(".")
        raise refuse("memory file", str(path), f"one that holds a memory of its family ({why})") from error


def read_tensors(path: str | Path, what: str, allowed: str) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """The metadata and the arrays of a safetensors file. `what` and `allowed` are for the refusal of any other file."""
    try:
        with safe_open(str(path), framework="numpy") as file:
            return file.metadata() or {}, {name: tensor(file, name) for name in file.keys()}
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError) as error:
        raise refuse(what, str(path), f"{allowed} ({error})") from error
