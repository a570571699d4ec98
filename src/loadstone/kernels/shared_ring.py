"""The pass over shared outputs of which each device holds a part: the parts are passed round in a ring.

In each round every device works with the part that it has, while that part is on its way to the next device. After as
many rounds as there are devices each part has been everywhere, and is home again. What a round finds is added to what
the rounds before it found.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from loadstone.kernels.products import rounded
from loadstone.kernels.recall import Recall, Slope
from loadstone.kernels.shared_xla import shared_recall


def ring_pass(
    queries: Float[Array, "n d"],
    outputs: Float[Array, "part d"],
    targets: Int[Array, "n"],
    precision: str,
    block: int,
    competitors: int,
    axis: str,
) -> tuple[Recall, Slope]:
    """The queries of this device against the outputs of all devices along a mesh axis, `block` queries at a time.

    outputs: those of this device. Together they may be more than `competitors`: the last ones are padding.
    """
    size, here, part = lax.axis_size(axis), lax.axis_index(axis), outputs.shape[0]
    onward = [(device, (device + 1) % size) for device in range(size)]

    def one_round(step: Int[Array, ""], carry: tuple) -> tuple:
        found, wanted, outputs = carry
        following = lax.ppermute(outputs, axis, onward)
        first = (here - step) % size * part
        count = jnp.clip(competitors - first, 0, part)
        local, inside = targets - first, (targets >= first) & (targets < first + part)
        seen = shared_recall(queries, outputs, local, block, precision, columns=count)
        seen = seen._replace(target=jnp.where(inside, seen.target, -jnp.inf))
        # A part may be nothing but padding.
        found = jax.tree.map(lambda new, old: jnp.where(count > 0, new, old), together(found, seen), found)
        own = rounded(outputs[jnp.where(inside, local, 0)].astype(queries.dtype), precision)
        return found, jnp.where(inside[:, None], own, wanted), following

    nothing = jnp.full(queries.shape[0], -jnp.inf, queries.dtype)
    start = Recall(nothing, nothing, nothing, jnp.zeros_like(queries)), jnp.zeros_like(queries), outputs
    recall, wanted, _ = lax.fori_loop(0, size, one_round, start)
    return recall, recall.pull - wanted


def together(one: Recall, other: Recall) -> Recall:
    """What the same queries find among two sets of outputs at once. A set without the target has minus infinity as its
    score, and the second set is not empty."""
    total = jnp.logaddexp(one.logsumexp, other.logsumexp)
    share, rest = (jnp.exp(part.logsumexp - total)[:, None] for part in (one, other))
    target, rival = (jnp.maximum(left, right) for left, right in zip(one[:2], other[:2]))
    return Recall(target, rival, total, share * one.pull + rest * other.pull)
