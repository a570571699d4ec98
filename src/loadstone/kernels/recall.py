"""What one pass over the competing outputs says about each association."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from loadstone.compiling import one_program
from loadstone.readable import readable


class Recall(NamedTuple):
    """What the query of each association finds among the outputs that compete for it.

    target: score of the association's target.
    rival: best score among all other outputs.
    logsumexp: logarithm of the partition sum over all outputs, the target included.
    pull: mean of all these outputs, weighted by the softmax of their scores.
    """

    target: Float[Array, "n"]
    rival: Float[Array, "n"]
    logsumexp: Float[Array, "n"]
    pull: Float[Array, "n d"]

    def __repr__(self) -> str:
        return readable(self)

    @property
    def margin(self) -> Float[Array, "n"]:
        return self.target - self.rival

    @property
    def loss(self) -> Float[Array, "n"]:
        """Cross-entropy of each association."""
        return self.logsumexp - self.target

    @property
    def stored(self) -> Bool[Array, "n"]:
        return self.target > self.rival

    @property
    def stored_beyond_rounding(self) -> Bool[Array, "n"]:
        """Whether the margin is larger than what rounding makes of a tie. In scores of 10^9, float32 numbers lie 64
        apart, and a memory that stores nothing may seem to store everything."""
        size = jnp.abs(self.target)
        # A score near zero may be the sum of large terms, so the typical size counts as well.
        rounding = jnp.finfo(size.dtype).eps * (8 * size + 2 * size.mean())
        return self.margin > rounding

    def merged(self, other: Recall) -> Recall:
        """What the same queries find among both sets of outputs. In a set without the target its score is minus
        infinity; the other set is not empty."""
        total = jnp.logaddexp(self.logsumexp, other.logsumexp)
        mine, theirs = (jnp.exp(part.logsumexp - total)[..., None] * part.pull for part in (self, other))
        pull = mine + theirs
        target, rival = (jnp.maximum(left, right) for left, right in zip(self[:2], other[:2]))
        return Recall(target, rival, total, pull)


#: A pass also gives the derivative of each association's loss with respect to its query: the pull minus the target.
Slope = Float[Array, "n d"]


@one_program
def rows_of(outputs: Float[Array, "m d"], targets: Int[Array, "n"]) -> Float[Array, "n d"]:
    """The output of each association's target."""
    return outputs[targets]


def target_and_rival(
    scores: Float[Array, "..."], targets: Int[Array, "b"], axis: int
) -> tuple[Float[Array, "b"], Float[Array, "b"]]:
    """Scores of target and rival of each association, whose scores lie along `axis`.

    Both are read from the same array: a target's score that is computed separately is rounded differently, and near
    ties are then miscounted.
    """
    index = jnp.expand_dims(targets, axis)
    is_target = lax.broadcasted_iota(index.dtype, scores.shape, axis) == index
    rival = jnp.max(jnp.where(is_target, -jnp.inf, scores), axis=axis)
    # Public functions refuse an index out of range; here it would read the nearest score, never beyond the array.
    target = jnp.take_along_axis(scores, index, axis=axis, mode="clip")
    return target.squeeze(axis), rival


def weighed_slope(weighed: Float[Array, "n d"], total: Float[Array, "n"], own: Float[Array, "n d"]) -> Slope:
    """The slope, from the outputs summed with weights, the sum of the weights, and each target: weighed / total - own,
    but exactly zero where no other output has any weight. A compiler turns that quotient into a product with 1 / total,
    which is off in the last digit."""
    return (weighed - total[:, None] * own) / total[:, None]


def without_padding(
    recall: Recall, slope: Slope, count: Int[Array, ""], target_outputs: Float[Array, "n d"]
) -> tuple[Recall, Slope]:
    """Recall and slope in which padding (rows from `count` on) is stored, with a loss and a slope of exactly zero."""
    inside = jnp.arange(recall.target.shape[0]) < count
    target, rival, logsumexp = (jnp.where(inside, part, rest) for part, rest in zip(recall[:3], (0.0, -jnp.inf, 0.0)))
    pull = jnp.where(inside[:, None], recall.pull, target_outputs)
    return Recall(target, rival, logsumexp, pull), jnp.where(inside[:, None], slope, 0.0)
