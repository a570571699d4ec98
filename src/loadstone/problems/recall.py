"""What one pass over the competing outputs says about each association."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Float16, Int

#: How the products of a pass are made. Sums are kept in float32 (float64 for float64 queries) in every case.
PRECISIONS = ("float32", "tf32", "float16", "bfloat16")


class Recall(NamedTuple):
    """Per association: the target's score, the best competing score, the log of the partition sum, and the pull.

    The pull is the mean of the competing outputs (the target among them) weighted by the softmax of their scores.
    """

    target: Float[Array, "n"]
    rival: Float[Array, "n"]
    logsumexp: Float[Array, "n"]
    pull: Float[Array, "n d"]

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


def contenders(
    scores: Float[Array, "..."], target: Int[Array, "b"], axis: int
) -> tuple[Float[Array, "b"], Float[Array, "b"]]:
    """Target and rival of each association from its scores, which lie along `axis`.

    Both are read from the same array: a target's score that is computed apart rounds differently, and then a near tie
    is miscounted.
    """
    place = jnp.expand_dims(target, axis)
    own = lax.broadcasted_iota(place.dtype, scores.shape, axis) == place
    rival = jnp.max(jnp.where(own, -jnp.inf, scores), axis=axis)
    target_score = jnp.take_along_axis(scores, place, axis=axis, mode="promise_in_bounds")
    return target_score.squeeze(axis), rival


def first_only(recall: Recall, count: Int[Array, ""], target_outputs: Float[Array, "n d"]) -> Recall:
    """The same with rows from `count` on, which are padding, as if stored with a loss and a slope of exactly zero."""
    inside = jnp.arange(recall.target.shape[0]) < count
    numbers = (jnp.where(inside, part, rest) for part, rest in zip(recall[:3], (0.0, -1.0, 0.0)))
    return Recall(*numbers, jnp.where(inside[:, None], recall.pull, target_outputs))


def exact(a: Float[Array, "a b"], b: Float[Array, "b c"]) -> Float[Array, "a c"]:
    """a b in the full precision of its operands on every device."""
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)


def dense(a: Float[Array, "a b"], b: Float[Array, "b c"], precision: str) -> Float[Array, "a c"]:
    """a b for a step that is trained in `precision`: in full, or with operands of 11 bits if a pass has them."""
    if precision == "float32":
        return exact(a, b)
    if precision == "float16":
        return _half_product(a, b, (((1,), (0,)), ((), ())))
    return jnp.matmul(a, b, precision=lax.Precision.DEFAULT)


def _half_product(a: Float[Array, "..."], b: Float[Array, "..."], dimensions: tuple) -> Float[Array, "..."]:
    """Operands in float16, each times a power of two: slopes get small as a whole, and would lose their bits."""
    (left, one), (right, other) = _scaled(a), _scaled(b)
    return lax.dot_general(left, right, dimensions, preferred_element_type=jnp.float32) * (one * other)


def _scaled(a: Float[Array, "..."]) -> tuple[Float16[Array, "..."], Float[Array, ""]]:
    top = jnp.max(jnp.abs(a))
    exponent = jnp.floor(jnp.log2(jnp.where(top > 0, top, 1))) - 9
    return (a * jnp.exp2(-exponent)).astype(jnp.float16), jnp.exp2(exponent)


#: Rows of a block of `crossed`.
_CROSSED_ROWS = 2048


def crossed(a: Float[Array, "n b"], b: Float[Array, "n c"], precision: str) -> Float[Array, "b c"]:
    """a^T b for such a step. The sum over all rows is long and its result small: in blocks, it fills a GPU."""
    if precision != "float16":
        # The copy makes XLA transpose once; its product of a transposed operand is slower.
        return dense(a.T.copy(), b, precision)
    rest = -a.shape[0] % _CROSSED_ROWS if a.shape[0] > _CROSSED_ROWS else 0
    filled = (jnp.pad(part, ((0, rest), (0, 0))) for part in (a, b))
    blocks = (part.reshape(-1, min(_CROSSED_ROWS, part.shape[0]), part.shape[1]) for part in filled)
    return _half_product(*blocks, (((1,), (1,)), ((0,), (0,)))).sum(axis=0)


def product(a: Float[Array, "..."], b: Float[Array, "..."], dimensions: tuple, precision: str) -> Float[Array, "..."]:
    """dot_general with operands rounded as `precision` says and sums in the precision of `a` (at least float32)."""
    if precision in ("float16", "bfloat16"):
        rounded = jnp.dtype(precision)
        return lax.dot_general(a.astype(rounded), b.astype(rounded), dimensions, preferred_element_type=jnp.float32)
    exact = lax.Precision.DEFAULT if precision == "tf32" else lax.Precision.HIGHEST
    return lax.dot_general(a, b.astype(a.dtype), dimensions, precision=exact, preferred_element_type=a.dtype)
