"""A proof that W stores an instance too large for NumPy: all margins with bounds on rounding, a block of inputs at a
time, on whatever device the instance is.

Queries q = W e are computed in float64 and rounded to float32, and so are all their scores. A sum of d products in
arithmetic of unit u is off by at most gamma(d) |u_rho| |q|, gamma(d) = d u / (1 - d u), by Cauchy and Schwarz
(arithmetic.py has the same bound). Where that proves no positive margin the scores are computed again in float64, whose
bounds are a billion times closer. Inputs, outputs and W are taken as exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Float64, Int

from loadstone.arguments import refuse
from loadstone.compiling import compiled
from loadstone.kernels.products import exact
from loadstone.kernels.recall import target_and_rival
from loadstone.problems.facts import Facts, block_rows
from loadstone.proofs.arithmetic import SLACK, gamma

#: Of float32 and float64: the unit of rounding, and the smallest number that is not rounded to zero.
_UNITS = {jnp.float32: (2.0**-24, 2.0**-126), jnp.float64: (2.0**-53, 2.0**-1022)}


@dataclass(frozen=True)
class StreamedBound:
    """Proved bounds on the margins of W.

    bound: every margin is at least this. Above zero, W stores everything.
    margin: the smallest margin, as it was computed.
    unproved: how many associations have no proved positive margin.
    in_float64: how many associations needed float64.
    associations: how many there are.
    """

    bound: float
    margin: float
    unproved: int
    in_float64: int
    associations: int


def streamed_bound(
    problem: Facts,
    weights: Float[np.ndarray | Array, "d d"],
    block: int | None = None,
    watch: Callable[[int], None] = lambda done: None,
) -> StreamedBound:
    """Bounds on all margins of W; `watch` is called with the number of associations done.

    block: how many inputs are done at a time; default: as many as a pass takes.
    """
    if not isinstance(problem, Facts) or problem.inputs.dtype != jnp.float32:
        raise refuse("problem", type(problem).__name__, "facts or an original problem in float32, in one place")
    n, d = problem.inputs.shape
    if np.shape(weights) != (d, d) or not np.isfinite(weights).all():
        raise refuse("weights", f"of shape {np.shape(weights)}", f"finite numbers of shape ({d}, {d})")
    rows = min(n, block or block_rows(n, problem.competitors))
    proved = np.empty((2, n))
    with jax.enable_x64(True):
        matrix, longest = jnp.asarray(weights, jnp.float64), _longest(problem.outputs)

        def look(indices: Int[np.ndarray, "b"], dtype: type) -> None:
            """Margins and their bounds of some rows; the last one is repeated to fill the block."""
            filled = np.pad(indices, (0, rows - len(indices)), "edge")
            computed = _margins(problem, matrix, longest, jnp.asarray(filled, jnp.int32), dtype)
            proved[:, indices] = np.asarray(computed)[:, : len(indices)]

        for first in range(0, n, rows):
            look(np.arange(first, min(first + rows, n)), jnp.float32)
            watch(min(first + rows, n))
        doubtful = np.flatnonzero(~_positive(proved[1]))
        for first in range(0, len(doubtful), rows):
            look(doubtful[first : first + rows], jnp.float64)
            watch(n)
    margins, bounds = proved
    unproved = int((~_positive(bounds)).sum())
    least = float(np.nan_to_num(bounds, nan=-np.inf).min())
    return StreamedBound(least, float(margins.min()), unproved, len(doubtful), n)


def _positive(bounds: Float64[np.ndarray, "n"]) -> Bool[np.ndarray, "n"]:
    return np.isfinite(bounds) & (bounds > 0)


@compiled
def _longest(outputs: Float32[Array, "m d"]) -> Float64[Array, ""]:
    """The length of the longest output, to far better than SLACK."""
    return jnp.sqrt(jnp.max(jnp.sum(outputs.astype(jnp.float64) ** 2, axis=1)))


@partial(compiled, static_argnames="dtype")
def _margins(
    problem: Facts, weights: Float64[Array, "d d"], longest: Float64[Array, ""], rows: Int[Array, "b"], dtype: type
) -> Float64[Array, "2 b"]:
    """Margins of some associations, computed in a type, and proven lower bounds on them."""
    inputs, targets = problem.inputs[rows].astype(jnp.float64), problem.targets[rows]
    d = inputs.shape[1]
    queries = exact(inputs, weights.T)
    scores = exact(queries.astype(dtype), problem.outputs.astype(dtype).T)
    target, rival = (part.astype(jnp.float64) for part in target_and_rival(scores, targets, 1))
    unit, smallest = _UNITS[dtype]
    of_query = gamma(d) * jnp.linalg.norm(weights) * jnp.linalg.norm(inputs, axis=1)
    lengths = jnp.linalg.norm(queries, axis=1)
    # The query is computed in float64, then rounded. The score is a sum of products, and any of them may underflow.
    error = of_query + unit * lengths + gamma(d, unit) * lengths + d * smallest
    both = 2 * SLACK * (longest * error + d * smallest)
    margin = target - rival
    return jnp.stack([margin, margin - both - 2.0**-50 * (jnp.abs(margin) + both)])
