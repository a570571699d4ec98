"""The curvature that L-BFGS knows, from its last moves: the inverse Hessian as a product with a vector.

The form is the compact one of Byrd, Nocedal and Schnabel (Representations of quasi-Newton matrices, 1994, eq. 3.1). It
gives the same as two loops over the pairs, in a few products of matrices instead of forty small steps: with moves S,
changes Y, R the upper triangle of S^T Y, D its diagonal and H = scale * 1 as a beginning,

    H g = scale g + S a - scale Y w,    w = R^-1 S^T g,    a = R^-T (D w + scale (Y^T Y w - Y^T g)).
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int


class Pairs(NamedTuple):
    """What is known of the curvature: the last moves, and how the gradient changed along each.

    moves, changes: the pairs, the oldest of which is overwritten by the next; zero where there is none.
    products: move . change, for every move and every change.
    squares: change . change, likewise.
    scale: what the Hessian's inverse is taken for where no pair speaks.
    kept: how many pairs were ever kept.
    """

    moves: Float[Array, "pairs size"]
    changes: Float[Array, "pairs size"]
    products: Float[Array, "pairs pairs"]
    squares: Float[Array, "pairs pairs"]
    scale: Float[Array, ""]
    kept: Int[Array, ""]


def no_pairs(count: int, point: Float[Array, "size"]) -> Pairs:
    """Room for so many pairs of points like this one."""
    none, small = jnp.zeros((count, point.size), point.dtype), jnp.zeros((count, count), point.dtype)
    return Pairs(none, none, small, small, jnp.zeros((), point.dtype), jnp.int32(0))


def with_pair(
    pairs: Pairs, move: Float[Array, "size"], change: Float[Array, "size"], known: Bool[Array, ""]
) -> Pairs:
    """The pairs with one more, if it says that the loss curves upwards, as it does everywhere but for rounding."""
    product, square = move @ change, change @ change
    curves = known & (product > jnp.finfo(move.dtype).eps * jnp.sqrt(square * (move @ move)))
    index = pairs.kept % pairs.products.shape[0]
    put = lambda array, row: array.at[index].set(jnp.where(curves, row, array[index]))  # noqa: E731
    moves, changes = put(pairs.moves, move), put(pairs.changes, change)
    products = put(put(pairs.products, _times(changes, move)).T, _times(moves, change)).T
    square_row = _times(changes, change)
    squares = put(put(pairs.squares, square_row).T, square_row).T
    scale = jnp.where(curves, product / square, pairs.scale)
    return Pairs(moves, changes, products, squares, scale, pairs.kept + curves)


def times_inverse_hessian(pairs: Pairs, gradient: Float[Array, "size"]) -> Float[Array, "size"]:
    """The inverse Hessian, as far as the pairs tell it, times a gradient."""
    count = pairs.products.shape[0]
    oldest_first = (pairs.kept + jnp.arange(count)) % count
    products, squares = (part[oldest_first][:, oldest_first] for part in (pairs.products, pairs.squares))
    along_moves, along_changes = (_times(rows, gradient)[oldest_first] for rows in (pairs.moves, pairs.changes))
    own = jnp.diagonal(products)
    # Where there is no pair yet, any number but zero will do: it meets zeros only.
    triangle = jnp.triu(products) + jnp.diag(jnp.where(own == 0, 1, 0).astype(own.dtype))
    w = solve_triangular(triangle, along_moves)
    a = solve_triangular(triangle, own * w + pairs.scale * (_times(squares, w) - along_changes), trans=1)
    put = lambda shares: jnp.zeros_like(shares).at[oldest_first].set(shares)  # noqa: E731
    return pairs.scale * (gradient - _times(put(w), pairs.changes)) + _times(put(a), pairs.moves)


def _times(a: Float[Array, "..."], b: Float[Array, "..."]) -> Float[Array, "..."]:
    """A matrix times a vector, or a vector times a matrix. As the product of two matrices, one of them with a single
    column, a GPU would do it with few of its processors: a hundred times as slowly."""
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)
