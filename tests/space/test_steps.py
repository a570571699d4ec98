"""Steps of both methods where the law is known: a half-space, a wedge of three walls, and never beyond a wall."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2, kstest

from loadstone.problems.decoupled import decoupled
from loadstone.problems.facts import facts
from loadstone.problems.original import original
from loadstone.solvers.decide import decide
from loadstone.space.paths import passing_path
from loadstone.space.ratios import ratios
from loadstone.space.steps import begun, reflection_step, slice_step
from loadstone.streams.stream import Stream

CHAINS = 20_000
#: One input, and four outputs in a plane: the query of the input lies in a wedge between three walls.
WEDGE = facts(
    np.array([[0.6, -1.1]]), np.array([[1.0, 0.3], [-0.8, 0.9], [-0.2, -1.0], [0.1, -0.7]]), targets=np.array([0])
)  # fmt: skip
HALF = facts(np.array([[2.0, 0.5]]), np.array([[1.0, -0.4], [-0.3, 0.2]]), targets=np.array([1]))


def step_of(method):
    """A compiled step without the path."""
    if method == "slices":
        return jax.jit(slice_step, static_argnums=(3, 4))
    return jax.jit(lambda *arguments: reflection_step(*arguments)[0], static_argnums=(3, 4))


def stationary(problem, seed=0):
    """Gaussian memories that store the problem, by rejection."""
    tried = np.random.default_rng(seed).standard_normal((8 * CHAINS, 2, 2)).astype(np.float32)
    margins = jax.jit(ratios)(problem, jnp.asarray(tried), jnp.asarray(tried), problem.competitors).margin[:, 0]
    kept = tried[np.asarray(margins) > 0][:CHAINS]
    assert len(kept) == CHAINS
    return jnp.asarray(kept)


@pytest.fixture(scope="module", params=["slices", "reflections"])
def moved(request):
    """One step of stationary chains in the wedge: before and after."""
    before = stationary(WEDGE)
    step = step_of(request.param)
    return np.asarray(before), np.asarray(step(WEDGE, begun(before), jax.random.key(1), None, 4).weights)


def angles(weights):
    """Of the query of the only input, in the plane."""
    queries = weights @ np.asarray(WEDGE.inputs[0])
    return np.arctan2(queries[:, 1], queries[:, 0])


def test_a_step_in_a_wedge_is_in_detailed_balance(moved):
    """Transitions between cells of angle and length are as frequent in both directions: McNemar's test of all pairs."""
    before, after = (np.stack([angles(one), np.linalg.norm(one, axis=(1, 2))]) for one in moved)
    cells = []
    for side in (before, after):
        places = [np.digitize(x, np.quantile(ref, (0.25, 0.5, 0.75))) for x, ref in zip(side, before)]
        cells.append(4 * places[0] + places[1])
    counts = np.zeros((16, 16))
    np.add.at(counts, tuple(cells), 1)
    upper = np.triu_indices(16, 1)
    there, back = counts[upper], counts.T[upper]
    used = there + back > 10
    assert used.sum() > 60  # chains do move between cells
    assert chi2.sf(((there - back) ** 2 / np.maximum(there + back, 1))[used].sum(), used.sum()) > 1e-4


def test_a_step_in_a_wedge_keeps_the_law(moved):
    before, after = moved
    assert (jax.jit(ratios)(WEDGE, jnp.asarray(after), jnp.asarray(after), 4).margin > -1e-5).all()
    # The angle is uniform in the wedge, because the walls go through the origin; the squared length has 4 degrees.
    low, high = angles(before).min(), angles(before).max()
    assert kstest((angles(after) - low) / (high - low), "uniform").pvalue > 1e-4
    assert kstest((after**2).sum(axis=(1, 2)), chi2(4).cdf).pvalue > 1e-4
    assert np.abs(after - before).max() > 1


@pytest.mark.parametrize("method", [pytest.param("slices", marks=pytest.mark.soak), "reflections"])
def test_a_gaussian_with_one_wall_becomes_half_normal(method):
    """From one point: after some steps the distance from the wall has the moments of a half-normal number."""
    outputs, given = np.asarray(HALF.outputs), np.asarray(HALF.inputs[0])
    normal = np.outer(outputs[1] - outputs[0], given)
    normal /= np.linalg.norm(normal)
    walk, step = begun(jnp.tile(jnp.asarray(normal, jnp.float32), (CHAINS, 1, 1))), step_of(method)
    for index in range(12):
        walk = step(HALF, walk, jax.random.key(index), None, 2)
    distance = (np.asarray(walk.before) * normal).sum(axis=(1, 2))
    assert distance.min() > 0
    # Four standard errors of the mean and of the mean square, whose fourth moment is 3.
    assert distance.mean() == pytest.approx(np.sqrt(2 / np.pi), abs=4 * np.sqrt((1 - 2 / np.pi) / CHAINS))
    assert (distance**2).mean() == pytest.approx(1, abs=4 * np.sqrt(2 / CHAINS))


@pytest.mark.parametrize("method", [pytest.param("slices", marks=pytest.mark.soak), "reflections"])
def test_no_step_leaves_the_cone_in_float64(method):
    """At a load close to capacity, every memory that is counted stores everything, checked in NumPy's float64."""
    with jax.enable_x64(True):
        problem = original(Stream(1, 4), 7).in_float64()
        start = np.asarray(decide(problem).witness)
        walk = begun(jnp.tile(jnp.asarray(start), (8, 1, 1)))

        def many(walk, keys):
            return jax.lax.scan(lambda walk, key: (step(problem, walk, key, None, 49),) * 2, walk, keys)

        step = step_of(method)
        _, walks = jax.jit(many)(walk, jax.random.split(jax.random.key(0), 300))
    weights = np.asarray(walks.before).reshape(-1, 4, 4)
    arrays = problem.arrays()
    scores = np.einsum("mi,cij,nj->cnm", arrays.outputs.astype(float), weights, arrays.inputs.astype(float))
    rivals = np.where(np.eye(7, dtype=bool), -np.inf, scores).max(axis=2)
    margins = np.einsum("cnn->cn", scores) - rivals
    assert margins.min() > 0
    np.testing.assert_allclose(np.asarray(walks.margin).ravel(), margins.min(axis=1), rtol=1e-6, atol=1e-12)


def test_a_path_from_beyond_a_wall_stays_where_it_begins():
    before = -0.1 * stationary(WEDGE)[:8]
    assert (jax.jit(ratios)(WEDGE, before, before, 4).margin[:, 0] > -1).all()
    path = jax.jit(lambda *given: passing_path(WEDGE, *given, None, 4, None))(before, stationary(WEDGE, 1)[:8])
    assert (path.weights == before).all() and (path.margin < 0).all() and (path.left == 0).all()


@pytest.mark.parametrize("kind", [pytest.param(original, marks=pytest.mark.soak), decoupled])
def test_rounding_cuts_no_path_short(kind):
    """In float32, where paths have a hundred reflections: W is hardly ever found behind a wall and sent back."""
    problem = kind(Stream(0, 10), 18)
    walk = begun(jnp.tile(jnp.asarray(decide(problem).witness, jnp.float32), (16, 1, 1)))

    def step(walk, key):
        walk, path = reflection_step(problem, walk, key, None, 18 * 18)
        return walk, (path.margin > 0, path.left, path.passes)

    _, (inside, left, passes) = jax.jit(lambda *given: jax.lax.scan(step, *given))(
        walk, jax.random.split(jax.random.key(0), 32)
    )
    assert passes.mean() > 60 and (left == 0).all()
    # When any margin on the way that was not positive ended the path, 1.2 % of these were sent back.
    assert inside.mean() > 0.997
