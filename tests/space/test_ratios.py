"""The pass of the samplers against all margins, computed one by one in float64; in one block and in several."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.problems.decoupled import decoupled
from loadstone.problems.facts import facts
from loadstone.problems.original import original
from loadstone.problems.separate import separate
from loadstone.space.ratios import arc, kept_angle, ratios
from loadstone.streams.stream import Stream

D, P, CHAINS = 4, 7, 3


def in_three_arrays(p):
    stored = decoupled(Stream(0, D), p)
    return replace(stored, parts=tuple(jnp.split(stored.parts[0], [2, 3])))


PROBLEMS = {
    "original": lambda p=P: original(Stream(0, D), p),
    "stored": lambda p=P: decoupled(Stream(0, D), p),
    "stored in three arrays": lambda p=P: in_three_arrays(p),
    "regenerated": lambda p=P: decoupled(Stream(0, D), p, hold="regenerated"),
    "separate": lambda p=P: separate(decoupled(Stream(0, D), p).arrays()),
    "facts": lambda p=P: facts(*np.random.default_rng(1).standard_normal((2, p, D)), targets=np.arange(p)[::-1] // 2),
}
PAIR = np.random.default_rng(2).standard_normal((2, CHAINS, D, D)).astype(np.float32)


def margins(problem, weights):
    """Of each chain, association and output; NaN for the target."""
    arrays = problem.arrays()
    inputs, outputs = arrays.inputs.astype(float), arrays.outputs.astype(float)
    found = np.empty((len(weights), len(inputs), outputs.shape[-2]))
    for chain, matrix in enumerate(weights.astype(float)):
        for row, target in enumerate(arrays.targets):
            scores = (outputs[row] if arrays.decoupled else outputs) @ matrix @ inputs[row]
            found[chain, row] = scores[target] - scores
            found[chain, row, target] = np.nan
    return found


def angle(there, here):
    """atan of the ratio of margins. Where W is behind a wall, that wall is just here."""
    return np.where(here <= 0, np.sign(there) * np.pi / 2, np.arctan(there / here))


@pytest.mark.parametrize("name, p", [*((name, P) for name in PROBLEMS), ("original", 600), ("regenerated", 600),
                                     ("separate", 600)])  # fmt: skip
def test_ratios_are_those_of_all_margins(name, p):
    """In one block; of 600 associations more scores than are held at a time."""
    problem = PROBLEMS[name](p)
    here, there = (margins(problem, part) for part in PAIR)
    found = jax.jit(lambda *given: ratios(*given))(problem, *map(jnp.asarray, PAIR), p * problem.competitors)
    np.testing.assert_allclose(found.margin, np.nanmin(here, axis=2), atol=5e-5)
    np.testing.assert_allclose(np.arctan(found.largest), np.nanmax(angle(there, here), axis=2), atol=2e-4)
    np.testing.assert_allclose(np.arctan(found.smallest), np.nanmin(angle(there, here), axis=2), atol=2e-4)


def test_only_the_first_pairs_count():
    problem, compiled = PROBLEMS["original"](), jax.jit(ratios)
    here, there = (margins(problem, part).reshape(CHAINS, -1) for part in PAIR)
    for count in (3 * P, 3 * P + 2):
        found = compiled(problem, *map(jnp.asarray, PAIR), count)
        assert found.margin.min(axis=1) == pytest.approx(np.nanmin(here[:, :count], axis=1), abs=2e-5)
        smallest = np.arctan(np.asarray(found.smallest).min(axis=1))
        assert smallest == pytest.approx(np.nanmin(angle(there, here)[:, :count], axis=1), abs=2e-4)
    assert np.isinf(found.margin[:, 4:]).all()
    nothing = arc(compiled(problem, *map(jnp.asarray, PAIR), 0))
    assert nothing.low == pytest.approx(-np.pi) and nothing.high == pytest.approx(np.pi)
    assert compiled._cache_size() == 1  # another count needs no other program


@pytest.mark.parametrize("name", [pytest.param("original", marks=pytest.mark.soak), "stored"])
def test_the_angle_at_which_rivals_lose_is_that_of_a_fine_grid(name):
    problem = PROBLEMS[name]()
    m = problem.competitors
    here, there = (margins(problem, part) for part in PAIR)
    seen, angle_of = set(), jax.jit(kept_angle)
    for row in range(P):
        for first, last in ((0, m), (2, 5)):
            for angle in (0.4, 1.5, 3.0):
                t = (np.arange(20_000) + 0.5) / 20_000 * angle
                grid = here[:, row, first:last, None] * np.cos(t) + there[:, row, first:last, None] * np.sin(t)
                share = (np.nan_to_num(grid, nan=1.0) > 0).all(axis=1).mean(axis=1)
                found = angle_of(
                    problem, *map(jnp.asarray, PAIR), jnp.full(CHAINS, angle),
                    jnp.asarray(row * m + first), jnp.asarray(row * m + last),
                )  # fmt: skip
                np.testing.assert_allclose(found, share * angle, atol=angle / 5000)
                seen |= set(np.sign(share * (1 - share)))
    assert seen == {0.0, 1.0}  # some are cut, some are whole or nothing
