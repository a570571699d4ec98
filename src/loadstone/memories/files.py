"""Saved memories: one safetensors file each, written whole or not at all.

The file holds the arrays of the memory under the names of its fields; its metadata names the family. A memory of a
linear family is its weights, and its mask or basis if the family has one.
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
from loadstone.memories.projected import Projected
from loadstone.memories.rounding import Rounded
from loadstone.memories.subspaces.registry import SUBSPACES, arrays_of, name_of, subspace_from
from loadstone.memories.two_layers import ACTIVATIONS, TwoLayers

_FORMAT = "loadstone memory 1"


def save_memory(path: str | Path, memory: Memory, about: dict[str, object] | None = None) -> None:
    """Write a memory of a known family, with `about` (where it comes from) as metadata."""
    family, arrays = _described(memory)
    # safetensors writes the bytes as they lie, so a transposed or sliced array must be laid out in order first.
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if family in _classes():
        _check_square("memory", type(memory).__name__, memory, tensors)
    metadata = {key: str(value) for key, value in (about or {}).items()} | {"format": _FORMAT, "family": family}
    blob = save(tensors, metadata=metadata)
    write_whole(path, lambda file: file.write(blob))


def load_memory(path: str | Path) -> Memory:
    """Read a memory that `save_memory` wrote."""
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise refuse("memory file", str(path), f"a safetensors file ({error})") from error
    # Older files do not name the family: it follows from the names of the arrays.
    kinds = _classes()
    family = metadata.get("family") or next(
        (name for name, kind in kinds.items() if set(_field_names(kind)) == tensors.keys()), ""
    )
    if family.partition(":")[0] in SUBSPACES and family not in kinds:
        return _projected(path, family, tensors)
    if family in ACTIVATIONS:
        return _two_layers(path, family, tensors)
    if family not in kinds or set(_field_names(kinds[family])) != tensors.keys():
        known = "; ".join(f"{name}: {', '.join(_field_names(kind))}" for name, kind in kinds.items())
        raise refuse("memory file", str(path), f"a file with the arrays of a known family ({known})")
    memory = kinds[family](**{name: _kept(tensor) for name, tensor in tensors.items()})
    _check_square("memory file", str(path), memory, tensors)
    return memory


def _described(memory: Memory) -> tuple[str, dict[str, np.ndarray | jnp.ndarray]]:
    """The family of a memory, and its arrays."""
    if isinstance(memory, Projected):
        return name_of(memory.subspace), {"weights": memory.weights, **arrays_of(memory.subspace)}
    if isinstance(memory, Rounded):
        return "full", {"weights": memory.matrix()}  # what it recalls with: a full matrix of few different numbers
    if isinstance(memory, TwoLayers):
        return memory.activation, {"keys": memory.keys, "values": memory.values}
    family = next((name for name, kind in _classes().items() if type(memory) is kind), None)
    if family is None:
        raise refuse("memory", type(memory).__name__, "of a family in loadstone.memories.families")
    return family, {name: getattr(memory, name) for name in _field_names(type(memory))}


def _projected(path: str | Path, family: str, tensors: dict[str, np.ndarray]) -> Projected:
    weights = tensors.pop("weights", np.empty(0))
    if weights.ndim != 2 or weights.shape[0] != weights.shape[1] or weights.size == 0:
        shape = f"a file whose weights make a d x d memory; they have the shape {weights.shape}"
        raise refuse("memory file", str(path), shape)
    try:
        subspace = subspace_from(family, tensors, len(weights))
    except ValueError as error:
        raise refuse("memory file", str(path), f"one of the family that it names ({error})") from error
    return Projected.made(_kept(weights), subspace)


def _two_layers(path: str | Path, family: str, tensors: dict[str, np.ndarray]) -> TwoLayers:
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    keys = shapes.get("keys", ())
    if len(keys) != 2 or 0 in keys or shapes != {"keys": keys, "values": keys[::-1]}:
        shown = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise refuse("memory file", str(path), f"a file with keys (h, d) and values (d, h); it has {shown}")
    return TwoLayers(_kept(tensors["keys"]), _kept(tensors["values"]), family)


def _classes() -> dict[str, type[Memory]]:
    """The families whose arrays are the fields of a class."""
    return {name: kind for name, kind in FAMILIES.items() if issubclass(kind, Memory)}


def _kept(tensor: np.ndarray) -> np.ndarray | jnp.ndarray:
    """JAX would round float64 numbers."""
    return tensor if tensor.dtype == np.float64 else jnp.asarray(tensor)


def _field_names(kind: type[Memory]) -> list[str]:
    return [field.name for field in fields(kind)]  # type: ignore[arg-type]


def _check_square(name: str, value: str, memory: Memory, tensors: Mapping[str, np.ndarray | jnp.ndarray]) -> None:
    """Refuse arrays that do not form a d x d memory."""
    shapes = ", ".join(f"{name} {array.shape}" for name, array in tensors.items())
    bad = refuse(name, value, f"one whose arrays make a d x d memory; it has {shapes}")
    if any(array.ndim != 2 or 0 in array.shape for array in tensors.values()):
        raise bad
    try:
        d, columns = memory.matrix().shape
    except (TypeError, ValueError, NotImplementedError) as error:
        raise bad from error
    if d != columns:
        raise bad
