"""Scores of one association under memories that store everything, below capacity, and what noise leaves of them.

Leave the association out. Under two solutions of overlap q its query W e then has the components sqrt(q) eta +
sqrt(1-q) x, with the same eta ~ N(0, I_d) for both and an x ~ N(0, I_d) for each (|W|^2 = d, so that they have variance
1). Putting it back keeps those x for which the target wins, (u_target - u_rho) . (sqrt(q) eta + sqrt(1-q) x) >= 0 for
all rho. This gives the queries of three memories:

    typical         sqrt(q) eta + sqrt(1-q) x, x drawn from those that are kept
    centre          the mean over these x, divided by sqrt(q): the mean of all solutions is shorter by that
    largest margin  the nearest point to eta at which the target wins by that margin (finite_margin.py)

Noise in the inputs or in W adds noise to the query, the same in all directions. An input e + sigma xi adds numbers of
variance sigma^2. Entries of W rounded to b bits are (1-v) W plus noise of variance v (1-v), v that of levels.py, so
they act as noise of variance v / (1-v). docs/theory/solution_scores.md derives it. It is about the decoupled problem.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from loadstone.arguments import refuse
from loadstone.levels import change_of
from loadstone.theory.alone import winning_queries
from loadstone.theory.checks import in_half_open, positives, single, whole_number
from loadstone.theory.finite_margin import nearest_query

#: Steps of each chain, and the share of them that is warm-up.
_STEPS, _WARM_UP = 2000, 0.2
#: Draws of the noise for each sample.
_DRAWS = 40


class SolutionQueries(NamedTuple):
    """Samples of an association: its p outputs, the target's first, and its query under each memory."""

    outputs: Float64[np.ndarray, "samples p d"]
    typical: Float64[np.ndarray, "samples d"]
    centre: Float64[np.ndarray, "samples d"]
    largest_margin: Float64[np.ndarray, "samples d"]


def solution_queries(
    overlap: float, d: int, p: int, margin: float, samples: int = 400, seed: int = 0, steps: int = _STEPS
) -> SolutionQueries:
    """Queries for p Gaussian outputs in d dimensions, under memories whose overlap and largest margin are given.

    An output that lies between others never wins; samples with such a target are drawn again.
    """
    q = float(in_half_open("overlap", single("overlap", overlap), 0, 1))
    d, p = whole_number("d", d, 2, 1000), whole_number("p", p, 2, 10**5)
    margin = float(positives("margin", single("margin", margin)))
    samples, steps = whole_number("samples", samples, 2, 10**6), whole_number("steps", steps, 2, 10**7)
    if winning_queries(p, d).impossible > 0.5:
        raise refuse("d", d, f"larger, because most of {p} outputs lie between others here, where they never win")
    random = np.random.default_rng(whole_number("seed", seed, 0, 2**32 - 1))
    drawn = [_drawn(d, p, margin, random) for _ in range(samples)]
    outputs, eta, nearest = (np.array(part) for part in zip(*drawn))
    x, mean = _kept(outputs[:, :1] - outputs[:, 1:], np.sqrt(q) * eta, np.sqrt(1 - q), nearest, steps, random)
    # At q = 0 the centre is a direction that no sample shows.
    centre = (np.sqrt(q) * eta + np.sqrt(1 - q) * mean) / np.sqrt(q) if q > 0 else np.full_like(eta, np.nan)
    return SolutionQueries(outputs, np.sqrt(q) * eta + np.sqrt(1 - q) * x, centre, nearest)


def scores_by_length(
    outputs: Float64[np.ndarray, "samples p d"], queries: Float64[np.ndarray, "samples d"]
) -> Float64[np.ndarray, "samples p"]:
    """All scores, each in units of the length of its query."""
    return _times(outputs, queries) / np.linalg.norm(queries, axis=1, keepdims=True)


def recalled_with_noise(
    outputs: Float64[np.ndarray, "samples p d"],
    queries: Float64[np.ndarray, "samples d"],
    variance: float,
    draws: int = _DRAWS,
    seed: int = 0,
) -> Float64[np.ndarray, "samples"]:
    """How often each target still wins if normal noise of this variance is added to every component of the query."""
    width = np.sqrt(float(positives("variance", single("variance", variance))))
    random = np.random.default_rng(whole_number("seed", seed, 0, 2**32 - 1))
    wins = np.zeros(len(queries))
    for _ in range(whole_number("draws", draws, 1, 10**6)):
        noisy = _times(outputs, queries + width * random.standard_normal(queries.shape))
        wins += noisy.argmax(axis=1) == 0
    return wins / draws


def rounding_noise(bits: int) -> float:
    """The variance of the noise that rounding to b bits amounts to."""
    change = change_of(bits)
    return change / (1 - change)


def _drawn(
    d: int, p: int, margin: float, random: np.random.Generator
) -> tuple[Float64[np.ndarray, "p d"], Float64[np.ndarray, "d"], Float64[np.ndarray, "d"]]:
    """Outputs, the query without the association, and the nearest one that has the margin, which in these units is
    divided by the length of the input."""
    while True:
        outputs, eta = random.standard_normal((p, d)), random.standard_normal(d)
        length = np.sqrt(random.chisquare(d) / d)
        nearest, _ = nearest_query((outputs[0] - outputs[1:]) / np.sqrt(d), eta, margin / length)
        if nearest is not None:
            return outputs, eta, nearest


def _times(rows: Float64[np.ndarray, "samples r d"], vectors: Float64[np.ndarray, "samples d"]) -> np.ndarray:
    return (rows @ vectors[:, :, None])[:, :, 0]


def _kept(
    planes: Float64[np.ndarray, "samples r d"],
    shift: Float64[np.ndarray, "samples d"],
    scale: float,
    start: Float64[np.ndarray, "samples d"],
    steps: int,
    random: np.random.Generator,
) -> tuple[Float64[np.ndarray, "samples d"], Float64[np.ndarray, "samples d"]]:
    """x ~ N(0, I) given that planes (shift + scale x) > 0, one chain for each sample: its end, and its mean.

    Slices (space/steps.py): on x cos t + v sin t each margin is positive on an arc around t = 0, and a random point of
    the arc that all of them share is next.
    """
    fixed, x = _times(planes, shift), (start - shift) / scale
    of_x, total, kept = scale * _times(planes, x), np.zeros_like(x), 0
    for step in range(steps):
        v = random.standard_normal(x.shape)
        of_v = scale * _times(planes, v)
        reach, middle = np.hypot(of_x, of_v), np.arctan2(of_v, of_x)
        half = np.where(fixed >= reach, np.inf, np.arccos(np.clip(-fixed / reach, -1, 1)))
        # The arc of a margin is (middle - half, middle + half), and t = 0 lies in it.
        low, high = (middle - half).max(axis=1), (middle + half).min(axis=1)
        low, high = np.maximum(low, -np.pi), np.minimum(high, np.pi)
        t = (low + (high - low) * random.random(len(x)))[:, None]
        x, of_x = x * np.cos(t) + v * np.sin(t), of_x * np.cos(t) + of_v * np.sin(t)
        if step >= _WARM_UP * steps:
            total, kept = total + x, kept + 1
    return x, total / kept
