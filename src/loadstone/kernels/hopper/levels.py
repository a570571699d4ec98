"""Levels of queries, guessed before their scores are known, for passes that make weights exp(score - level) in float16.

The level of a query is about its largest score. The guess is the target's score, or, if that is larger, a little less
than the best score of the others that a few queries lead one to expect of a query of this length. A guess is good as
long as the weights fit into float16; which ones are is known once the scores are.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Float16

from loadstone.kernels.hopper.arrays import OutputArrays

#: The largest weight of a query is about exp(3): levels are subtracted less this. Queries whose best score is far above
#: what one expects are more frequent than those where it is far below, so there is more room above, where float16 ends
#: at exp(11), than below: with a largest weight of exp(-4), a weight of three millionths of it is the smallest that is
#: not zero.
LARGEST = 3.0
#: By how much a guess may be wrong.
_LEAST_OFF, _MOST_OFF = -7.0, 7.9
#: The best of m normal numbers scatters by 0.64 / log(m) of itself. Late in a search, when scores are in the hundreds,
#: the target's score is close to the largest in nearly all queries, and a rival must not be expected where there is
#: none: so a little more than the scatter, this over log(m), is left out. Seen along searches by L-BFGS, d = 100, at
#: the capacity and 2 % above it: with this at most 2.5 % of the guesses are bad, without it up to 47 %.
_BELOW, _LEAST_COUNT = 0.85, 8


def guessed_levels(queries: Float16[Array, "n width"], arrays: OutputArrays) -> Float[Array, "n"]:
    """About the largest score of each query that counts."""
    single = queries.astype(jnp.float32)
    lengths = jnp.linalg.norm(single, axis=1)
    target = jnp.einsum("nd,nd->n", single, arrays.own.astype(jnp.float32))
    height = _rival_of_unit_query(queries[arrays.few], lengths[arrays.few], arrays)
    below = _BELOW / jnp.log(jnp.maximum(arrays.counts[1], _LEAST_COUNT).astype(jnp.float32))
    return jnp.maximum(target, (1 - below) * height * lengths)


def are_bad(levels: Float[Array, "n"], top: Float[Array, "n"], counted: Bool[Array, "n"]) -> Bool[Array, "n"]:
    """Which queries, of those that count, have levels too far from their largest scores."""
    off = top - levels
    return counted & ~((off > _LEAST_OFF) & (off < _MOST_OFF))


def _rival_of_unit_query(
    queries: Float16[Array, "few width"], lengths: Float[Array, "few"], arrays: OutputArrays
) -> Float[Array, ""]:
    """The best score of the others, for a query of length 1, by least squares."""
    scores = jnp.matmul(queries, arrays.outputs.T, preferred_element_type=jnp.float32)
    rivals = jnp.where(arrays.rivals, scores, -jnp.inf).max(axis=1)
    products = jnp.where(jnp.isfinite(rivals), rivals * lengths, 0.0)  # without another output there is no rival
    return products.sum() / jnp.maximum((lengths**2).sum(), jnp.finfo(jnp.float32).tiny)
