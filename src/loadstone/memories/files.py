"""Saved memories: one safetensors file each, written whole or not at all.

The file holds the arrays of the memory under the names of its fields; its metadata names the family.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from loadstone.arguments import refuse
from loadstone.files import write_whole
from loadstone.memories.families import FAMILIES
from loadstone.memories.memory import Memory

_FORMAT = "loadstone memory 1"


def save_memory(path: str | Path, memory: Memory, about: dict[str, object] | None = None) -> None:
    """Write a memory of a known family, with `about` (where it comes from) as metadata."""
    family = next((name for name, kind in FAMILIES.items() if type(memory) is kind), None)
    if family is None:
        raise refuse("memory", type(memory).__name__, "of a family in loadstone.memories.families")
    # safetensors writes the bytes as they lie, so a transposed or sliced array must be laid out in order first.
    tensors = {name: np.ascontiguousarray(getattr(memory, name)) for name in _field_names(type(memory))}
    metadata = {key: str(value) for key, value in (about or {}).items()} | {"format": _FORMAT, "family": family}
    blob = save(tensors, metadata=metadata)
    write_whole(path, lambda file: file.write(blob))


def load_memory(path: str | Path) -> Memory:
    """Read a memory that `save_memory` wrote."""
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: _kept(file.get_tensor(name)) for name in file.keys()}
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise refuse("memory file", str(path), f"a safetensors file ({error})") from error
    # Older files do not name the family: it follows from the names of the arrays.
    family = metadata.get("family") or next(
        (name for name, kind in FAMILIES.items() if set(_field_names(kind)) == tensors.keys()), ""
    )
    kind = FAMILIES.get(family)
    if kind is None or set(_field_names(kind)) != tensors.keys():
        known = "; ".join(f"{name}: {', '.join(_field_names(kind))}" for name, kind in FAMILIES.items())
        raise refuse("memory file", str(path), f"a file with the arrays of a known family ({known})")
    memory = kind(**tensors)
    _check_square(path, memory, tensors)
    return memory


def _kept(tensor: np.ndarray) -> np.ndarray | jnp.ndarray:
    """JAX would round float64 numbers."""
    return tensor if tensor.dtype == np.float64 else jnp.asarray(tensor)


def _field_names(kind: type[Memory]) -> list[str]:
    return [field.name for field in fields(kind)]  # type: ignore[arg-type]


def _check_square(path: str | Path, memory: Memory, tensors: Mapping[str, np.ndarray | jnp.ndarray]) -> None:
    """Refuse arrays that do not form a d x d memory."""
    shapes = ", ".join(f"{name} {array.shape}" for name, array in tensors.items())
    bad = refuse("memory file", str(path), f"a file whose arrays make a d x d memory; it has {shapes}")
    if any(array.ndim != 2 or 0 in array.shape for array in tensors.values()):
        raise bad
    try:
        d, columns = memory.matrix().shape
    except (TypeError, ValueError, NotImplementedError) as error:
        raise bad from error
    if d != columns:
        raise bad
