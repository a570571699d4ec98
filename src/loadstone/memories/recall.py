"""What a memory recalls for an input: the output with the largest score."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from loadstone.arguments import refuse
from loadstone.given_arrays import real_array
from loadstone.kernels.products import exact
from loadstone.memories.foreign import as_memory
from loadstone.memories.memory import in_digits_of
from loadstone.problems.loss import queries_of


def recall_index(
    memory: Any, inputs: Float[np.ndarray | Array, "n d"], *, outputs: Float[np.ndarray | Array, "m d"]
) -> Int[Array, "n"]:
    """For each input, the index of the output that the memory recalls: argmax over rho of u_rho^T W e.

    Example:
        >>> import numpy as np
        >>> from loadstone.memories.full import Full
        >>> from loadstone.memories.recall import recall_index
        >>> recall_index(Full(np.eye(3)), np.eye(3)[[2, 0]], outputs=np.eye(3)).tolist()
        [2, 0]
    """
    memory = as_memory(memory)
    with in_digits_of(memory):
        inputs, outputs = _embeddings("inputs", inputs), _embeddings("outputs", outputs)
        queries = queries_of(jax.tree.map(jnp.asarray, memory), inputs)
        if queries.shape[1] != outputs.shape[1]:
            raise refuse("outputs.shape", outputs.shape, f"(m, {queries.shape[1]}), to go with the memory's queries")
        return jnp.argmax(exact(queries, outputs.astype(queries.dtype).T), axis=-1).astype(jnp.int32)


def _embeddings(name: str, value: Any) -> Float[Array, "n d"]:
    array = value if isinstance(value, jax.Array) else real_array(name, value, "an array of real numbers")
    if array.ndim != 2 or 0 in array.shape:
        raise refuse(f"{name}.shape", array.shape, "two sizes of at least 1, one embedding a row")
    return jnp.asarray(array)
