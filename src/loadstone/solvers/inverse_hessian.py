"""The curvature that L-BFGS knows, from its last moves: the inverse Hessian as a product with a vector.

The form is the compact one of Byrd, Nocedal and Schnabel (Representations of quasi-Newton matrices, 1994, eq. 3.1). It
gives the same as two loops over the pairs, in a few products of matrices instead of forty small steps. Both sides of a
pair may be divided by one number, so here move . change is one for each. With moves S, changes Y, R the upper triangle
of S^T Y in the order of their age, and H = scale * 1 as a beginning,

    H g = scale (g - Y w) + S a,    w = R^-1 S^T g,    a = R^-T (w + scale (Y^T Y w - Y^T g)).

R^-1 itself is kept, because it follows from the last one without solving anything: without the oldest pair it has a row
and a column less, and with a newest one it has a column more, -R^-1 S^T y and a one. So pairs need not be put in order.
(On a GPU the solution of a triangular system would also send the search back to the host in every pass: XLA can put
everything else of it into a graph that runs on the device alone.)
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int


class Pairs(NamedTuple):
    """What is known of the curvature: the last moves, and how the gradient changed along each.

    moves, changes: the pairs, divided so that move . change is one. The oldest is overwritten by the next; zero where
        there is none.
    inverse: of the matrix of the products move . change of each change with its own move and older ones.
    squares: change . change, for every two changes.
    scale: the inverse Hessian, as a number, in directions about which no pair says anything.
    kept: how many pairs were ever kept.
    """

    moves: Float[Array, "pairs size"]
    changes: Float[Array, "pairs size"]
    inverse: Float[Array, "pairs pairs"]
    squares: Float[Array, "pairs pairs"]
    scale: Float[Array, ""]
    kept: Int[Array, ""]


def no_pairs(count: int, point: Float[Array, "size"]) -> Pairs:
    """No pairs yet, with room for `count` of them, for points like this one."""
    none, small = jnp.zeros((count, point.size), point.dtype), jnp.zeros((count, count), point.dtype)
    return Pairs(none, none, small, small, jnp.zeros((), point.dtype), jnp.int32(0))


def with_pair(pairs: Pairs, move: Float[Array, "size"], change: Float[Array, "size"], known: Bool[Array, ""]) -> Pairs:
    """The pairs with one more, if the loss curves upwards along it, as it does everywhere but for rounding."""
    product, square = move @ change, change @ change
    curves = known & (product > jnp.finfo(move.dtype).eps * jnp.sqrt(square) * jnp.sqrt(move @ move))
    root = jnp.sqrt(jnp.where(curves, product, 1))
    move, change = move / root, change / root
    count = pairs.squares.shape[0]
    index = pairs.kept % count
    put = lambda array, row: array.at[index].set(jnp.where(curves, row, array[index]))  # noqa: E731
    moves, changes = put(pairs.moves, move), put(pairs.changes, change)

    new = (jnp.arange(count) == index) & curves
    row, column = new[:, None], new[None, :]
    inverse = jnp.where(row | column, 0, pairs.inverse)
    last = jnp.where(new, 1, -_times(inverse, _times(moves, change)))
    inverse = jnp.where(column, last[:, None], inverse)
    products = _times(changes, change)
    squares = jnp.where(row, products[None, :], jnp.where(column, products[:, None], pairs.squares))
    scale = jnp.where(curves, product / square, pairs.scale)
    return Pairs(moves, changes, inverse, squares, scale, pairs.kept + curves)


def times_inverse_hessian(pairs: Pairs, gradient: Float[Array, "size"]) -> Float[Array, "size"]:
    """The inverse Hessian, as far as the pairs determine it, times a gradient."""
    moves, changes, inverse, squares, scale, _ = pairs
    w = _times(inverse, _times(moves, gradient))
    a = _times(w + scale * (_times(squares, w) - _times(changes, gradient)), inverse)
    return scale * (gradient - _times(w, changes)) + _times(a, moves)


def _times(a: Float[Array, "..."], b: Float[Array, "..."]) -> Float[Array, "..."]:
    """A matrix times a vector, or a vector times a matrix. As the product of two matrices, one of them with a single
    column, a GPU would do it with few of its processors: a hundred times as slowly."""
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)
