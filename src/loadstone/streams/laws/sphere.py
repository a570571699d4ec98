"""Uniform on the sphere of radius sqrt(d).

So that every device gives the same bits, the length of a vector is summed pairwise in a fixed order from squares that
are exact sums of exact products, and its inverse is found by bisection, which needs products and comparisons only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float32, UInt32

from loadstone.streams.laws.law import Law
from loadstone.streams.normals import normals


@dataclass(frozen=True)
class Sphere(Law):
    """A Gaussian vector, divided by its length and multiplied by sqrt(d)."""

    isotropic: ClassVar[bool] = True

    def vectors(self, words: UInt32[Array, "d n"]) -> Float32[Array, "d n"]:
        gaussian = normals(words)
        return gaussian * _inverse_length(gaussian)[None, :]


def _inverse_length(x: Float32[Array, "d n"]) -> Float32[Array, "n"]:
    """sqrt(d) / |x| for each column: the largest float r with r * r * |x|^2 <= d."""
    square = _squared_length(x)
    dimension = jnp.float32(x.shape[0])

    def halve(_, ends):
        low, high = ends
        middle = low + (high - low) // 2
        r = lax.bitcast_convert_type(middle, jnp.float32)
        fits = r * r * square <= dimension
        return jnp.where(fits, middle, low), jnp.where(fits, high, middle)

    # Positive floats are ordered as their bit patterns are.
    low, high = (lax.bitcast_convert_type(jnp.full_like(square, v), jnp.int32) for v in (2.0**-30, 2.0**40))
    low, _ = lax.fori_loop(0, 30, halve, (low, high))
    return lax.bitcast_convert_type(low, jnp.float32)


def _squared_length(x: Float32[Array, "d n"]) -> Float32[Array, "n"]:
    bits = lax.bitcast_convert_type(x, jnp.uint32)
    high = lax.bitcast_convert_type(bits & np.uint32(0xFFFFF000), jnp.float32)
    low = x - high
    square = high * high + (2 * high * low + low * low)  # 12 x 12 bits: each product is exact
    while square.shape[0] > 1:
        if square.shape[0] % 2:
            square = jnp.concatenate([square, jnp.zeros_like(square[:1])])
        square = square[: square.shape[0] // 2] + square[square.shape[0] // 2 :]
    return square[0]
