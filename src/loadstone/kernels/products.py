"""Matrix products in a stated precision, and how they are differentiated.

A memory computes its queries with `times` and `mapped`, whose derivatives have the same precision as they have. Passes
compute their scores with `product`.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Float16, Int

#: Precisions of products; 'split' has every number as the sum of two in float16. Sums are in float32 (float64 for
#: float64 operands) in every case.
PRECISIONS = ("float64", "float32", "split", "float16")

#: The precisions in which operands are made of float16 numbers.
_OF_FLOAT16 = ("float16", "split")

#: The least exponent of the unit of a product, whose inverse must not overflow.
_LEAST_EXPONENT = -126

#: How many rows `crossed` sums at a time.
_CROSSED_ROWS = 2048
#: Above this many numbers the products of its blocks are summed one by one.
_CROSSED_NUMBERS = 2**31


def exact(a: Float[Array | np.ndarray, "a b"], b: Float[Array | np.ndarray, "b c"]) -> Float[Array, "a c"]:
    """a b in the full precision of its operands on every device."""
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)


def exact_there(
    a: Float[Array | np.ndarray, "a b"], b: Float[Array | np.ndarray, "b c"]
) -> Float[Array | np.ndarray, "a c"]:
    """a b, where the operands are: NumPy's arrays are multiplied by NumPy, because JAX would round their float64
    numbers to float32 wherever it has float64 switched off."""
    return a @ b if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) else exact(a, b)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def times(a: Float[Array, "n b"], b: Float[Array, "b c"], precision: str = "float32") -> Float[Array, "n c"]:
    """a b, where a has a row for each association and b is a part of a memory."""
    return dense(a, b, precision)


def _times_backward(precision, operands, slope):
    a, b = operands
    return dense(slope, b.T, precision), crossed(a, slope, precision)


times.defvjp(lambda a, b, precision: (dense(a, b, precision), (a, b)), _times_backward)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def mapped(a: Float[Array, "n b"], w: Float[Array, "c b"], precision: str = "float32") -> Float[Array, "n c"]:
    """The rows of a mapped by w: a w^T, without a transposition of the gradient of w."""
    return dense(a, w.T, precision)


def _mapped_backward(precision, operands, slope):
    a, w = operands
    return dense(slope, w, precision), crossed(slope, a, precision)


mapped.defvjp(lambda a, w, precision: (dense(a, w.T, precision), (a, w)), _mapped_backward)


def dense(a: Float[Array, "a b"], b: Float[Array, "b c"], precision: str) -> Float[Array, "a c"]:
    """a b in full precision, or with operands of 11 or 22 bits if the pass has them."""
    if precision in _OF_FLOAT16:
        return _half_product(a, b, (((1,), (0,)), ((), ())), precision)
    return exact(a, b)


def crossed(a: Float[Array, "n b"], b: Float[Array, "n c"], precision: str) -> Float[Array, "b c"]:
    """a^T b. The sum runs over many rows and its result is small, so a GPU does it in blocks that keep it busy."""
    if precision not in _OF_FLOAT16:
        # The copy makes XLA transpose once; a product with a transposed operand would be slower.
        return dense(a.T.copy(), b, precision)
    rest = -a.shape[0] % _CROSSED_ROWS if a.shape[0] > _CROSSED_ROWS else 0
    filled = (jnp.pad(part, ((0, rest), (0, 0))) for part in (a, b))
    left, right = (part.reshape(-1, min(_CROSSED_ROWS, part.shape[0]), part.shape[1]) for part in filled)
    if left.shape[0] * a.shape[1] * b.shape[1] > _CROSSED_NUMBERS:
        return summed_products(left, right, precision)
    return _half_product(left, right, (((1,), (1,)), ((0,), (0,))), precision).sum(axis=0)


def summed_products(left: Float[Array, "k n b"], right: Float[Array, "k n c"], precision: str) -> Float[Array, "b c"]:
    """a^T b summed over k blocks one by one, where the products of all blocks would take too much memory."""
    left, right, unit = _operands(left, right, (1, 1), precision)

    def add(index: Int[Array, ""], total: Float[Array, "b c"]) -> Float[Array, "b c"]:
        rows = (((0,), (0,)), ((), ()))
        return total + lax.dot_general(left[index], right[index], rows, preferred_element_type=jnp.float32)

    nothing = jnp.zeros((left.shape[2], right.shape[2]), jnp.float32)
    return lax.fori_loop(0, left.shape[0], add, nothing) * unit


def product(a: Float[Array, "..."], b: Float[Array, "..."], dimensions: tuple, precision: str) -> Float[Array, "..."]:
    """dot_general with operands rounded as `precision` says and sums in the precision of `a` (at least float32)."""
    if precision == "float16":
        halves = a.astype(jnp.float16), b.astype(jnp.float16)
        return lax.dot_general(*halves, dimensions, preferred_element_type=jnp.float32)
    digits = lax.Precision.HIGHEST
    return lax.dot_general(a, b.astype(a.dtype), dimensions, precision=digits, preferred_element_type=a.dtype)


def rounded(outputs: Float[Array, "*shape"], precision: str) -> Float[Array, "*shape"]:
    """Outputs rounded as `product` rounds them in `precision`, in their original type."""
    return outputs.astype(jnp.float16).astype(outputs.dtype) if precision == "float16" else outputs


def _half_product(
    a: Float[Array, "..."], b: Float[Array, "..."], dimensions: tuple, precision: str
) -> Float[Array, "..."]:
    """A product of operands that are made of float16 numbers, summed in float32."""
    (over,), (other_over,) = dimensions[0]
    left, right, unit = _operands(a, b, (over, other_over), precision)
    return lax.dot_general(left, right, dimensions, preferred_element_type=jnp.float32) * unit


def _operands(
    a: Float[Array, "..."], b: Float[Array, "..."], over: tuple[int, int], precision: str
) -> tuple[Float16[Array, "..."], Float16[Array, "..."], Float[Array, ""]]:
    """Both operands in float16, each times a power of two, because slopes become small all together and would lose
    their bits; and the unit of their product. If they are split, the axes that are summed over are three times as long:
    high high + high low + low high."""
    if precision == "float16":
        (left, unit), (right, other_unit) = (in_float16(part, jnp.max(jnp.abs(part))) for part in (a, b))
        return left, right, unit * other_unit
    (high, low, unit), (other_high, other_low, other_unit) = split(a), split(b)
    left = jnp.concatenate([high, high, low], axis=over[0])
    right = jnp.concatenate([other_high, other_low, other_high], axis=over[1])
    return left, right, unit * other_unit


def split(
    a: Float[Array, "*shape"],
) -> tuple[Float16[Array, "*shape"], Float16[Array, "*shape"], Float[Array, ""]]:
    """Numbers rounded to float16 in units of a power of two, what that leaves, rounded as well, and the unit."""
    exponent = exponent_of(jnp.max(jnp.abs(a)))
    return *halves(a * jnp.exp2(-exponent)), jnp.exp2(exponent)


def halves(a: Float[Array, "*shape"]) -> tuple[Float16[Array, "*shape"], Float16[Array, "*shape"]]:
    """Numbers rounded to float16, and what that leaves, rounded as well."""
    # Not by a conversion to float16 and back, which a compiler for GPUs leaves out.
    high = lax.reduce_precision(a, exponent_bits=5, mantissa_bits=10)
    return high.astype(jnp.float16), (a - high).astype(jnp.float16)


def in_float16(a: Float[Array, "..."], top: Float[Array, ""]) -> tuple[Float16[Array, "..."], Float[Array, ""]]:
    """The numbers in float16 in units of a power of two, and that unit, for numbers of size `top` at most, or a little
    more."""
    return in_units(a, exponent_of(top))


def in_units(a: Float[Array, "..."], exponent: Float[Array, ""]) -> tuple[Float16[Array, "..."], Float[Array, ""]]:
    """The numbers in float16 in units of a power of two, and that unit."""
    return (a * jnp.exp2(-exponent)).astype(jnp.float16), jnp.exp2(exponent)


def exponent_of(top: Float[Array, ""]) -> Float[Array, ""]:
    """The exponent of the unit in which a number of this size is from 512 to 1024, or the least that has an inverse."""
    return jnp.maximum(jnp.floor(jnp.log2(jnp.where(top > 0, top, 1))) - 9, _LEAST_EXPONENT)
