"""Saved memories: one safetensors file each, written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from loadstone.arguments import refuse
from loadstone.files import write_whole
from loadstone.memories.memory import Factored, Full, Memory


def save_memory(path: str | Path, memory: Memory, about: dict[str, object] | None = None) -> None:
    """Write a memory with `about`, words on where it comes from, as metadata."""
    tensors = {"weights": memory.weights} if isinstance(memory, Full) else {"left": memory.left, "right": memory.right}
    metadata = {"format": "loadstone memory 1"} | {key: str(value) for key, value in (about or {}).items()}
    blob = save({name: np.asarray(tensor) for name, tensor in tensors.items()}, metadata=metadata)
    write_whole(path, lambda file: file.write(blob))


def load_memory(path: str | Path) -> Memory:
    """Read a memory that `save_memory` wrote."""
    try:
        with safe_open(str(path), framework="numpy") as file:
            tensors = {name: jnp.asarray(file.get_tensor(name)) for name in file.keys()}
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError) as error:
        raise refuse("memory file", str(path), f"a safetensors file ({error})") from error
    if tensors.keys() == {"weights"} and tensors["weights"].ndim == 2:
        return Full(tensors["weights"])
    if tensors.keys() == {"left", "right"} and tensors["left"].shape == tensors["right"].shape:
        return Factored(tensors["left"], tensors["right"])
    raise refuse("memory file", str(path), "a file with the tensor 'weights', or with 'left' and 'right'")
