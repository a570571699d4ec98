"""Margins in a table against a pass for each reflection: the same paths, up to rounding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.problems.facts import facts
from loadstone.problems.original import original
from loadstone.solvers.decide import decide
from loadstone.space.margins_table import fits, path_with_table
from loadstone.space.paths import passing_path
from loadstone.streams.stream import Stream

PROBLEMS = {
    "original": lambda: original(Stream(1, 5), 8),
    "fewer outputs": lambda: facts(
        *(np.random.default_rng(1).standard_normal((n, 5)) for n in (7, 4)), [0, 1, 3, 3, 2, 0, 1]
    ),
}


@pytest.mark.parametrize("name", [pytest.param("fewer outputs", marks=pytest.mark.soak), "original"])
def test_paths_are_those_of_passes(name):
    with jax.enable_x64(True):
        problem = PROBLEMS[name]().in_float64()
        m = problem.competitors
        count, following = jnp.int32(3 * m + 1), jnp.int32(4 * m)
        start = jnp.tile(jnp.asarray(decide(problem).witness), (16, 1, 1))
        drawn = jax.random.normal(jax.random.key(0), start.shape, start.dtype)
        given = start, drawn, count, following
        one = jax.jit(lambda at, along, *pairs: passing_path(problem, at, along, None, *pairs))(*given)
        other = jax.jit(lambda *given: path_with_table(problem, *given))(*given)
        one, other = jax.tree.map(np.asarray, (one, other))
    assert one.passes.min() > 1 and one.passes.max() > 5  # reflections did occur
    for field, part in one._asdict().items():
        np.testing.assert_allclose(getattr(other, field), part, rtol=1e-9, atol=1e-9, err_msg=field)
    assert 0 < one.kept.mean() < np.pi / 2 and fits(problem, 16)
