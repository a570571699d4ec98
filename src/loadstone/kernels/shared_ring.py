"""The pass over shared outputs of which each device holds a part: the parts are passed round in a ring.

In each round every device works with the part that it has, while that part is on its way to the next device. After as
many rounds as there are devices each part has been everywhere, and is back. The result of each round is merged with
those of the rounds before it.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from loadstone.kernels.outputs import SharedOutputs
from loadstone.kernels.products import rounded
from loadstone.kernels.recall import Recall, Slope
from loadstone.kernels.shared_xla import shared_recall


def ring_pass(
    queries: Float[Array, "n d"], outputs: SharedOutputs, precision: str, competitors: int, axis: str
) -> tuple[Recall, Slope]:
    """The queries of this device against the outputs of all devices along a mesh axis.

    outputs: those of this device; targets are rows of all of them. Together they may be more than `competitors`: the
        last ones are padding.
    """
    size, index, part, targets = lax.axis_size(axis), lax.axis_index(axis), outputs.array.shape[0], outputs.targets
    to_next = [(device, (device + 1) % size) for device in range(size)]

    def one_round(step: Int[Array, ""], carry: tuple) -> tuple:
        recall, own, array = carry
        next_array = lax.ppermute(array, axis, to_next)
        first = (index - step) % size * part
        count = jnp.clip(competitors - first, 0, part)
        local, inside = targets - first, (targets >= first) & (targets < first + part)
        seen = shared_recall(queries, SharedOutputs(array, local, outputs.block), precision, columns=count)
        seen = seen._replace(target=jnp.where(inside, seen.target, -jnp.inf))
        # A part may be nothing but padding.
        recall = jax.tree.map(lambda new, old: jnp.where(count > 0, new, old), recall.merged(seen), recall)
        targets_here = rounded(array[jnp.where(inside, local, 0)].astype(queries.dtype), precision)
        return recall, jnp.where(inside[:, None], targets_here, own), next_array

    nothing = jnp.full(queries.shape[0], -jnp.inf, queries.dtype)
    start = Recall(nothing, nothing, nothing, jnp.zeros_like(queries)), jnp.zeros_like(queries), outputs.array
    recall, own, _ = lax.fori_loop(0, size, one_round, start)
    return recall, recall.pull - own
