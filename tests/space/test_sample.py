"""The public entry: what it gives, what it refuses, and two methods against each other."""

import numpy as np
import pytest

import loadstone
from loadstone.memories.subspaces.patterned import Symmetric
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.proofs.verdict import Outcome
from loadstone.space.chains import run_chains
from loadstone.space.overlap import overlap
from loadstone.space.sample import _problem
from loadstone.space.starts import NotStorableError, in_digits, starting_points
from loadstone.streams.stream import Stream
from tests.space.conftest import PROBLEM


def test_what_is_sampled_stores_the_instance(sampled):
    assert sampled.dimension == 9 and len(sampled.typical) == 4 and sampled.steps >= 320
    for memory in (*sampled.typical, sampled.centre):
        assert loadstone.measure(PROBLEM, memory).violations == 0
    assert np.linalg.norm(sampled.centre.matrix()) ** 2 == pytest.approx(sampled.overlap.value, abs=0.02)


def test_a_seed_gives_the_same_samples(sampled):
    arrays = PROBLEM.arrays()
    again = loadstone.sample(arrays, seed=2, with_volume=False)
    assert again.overlap == sampled.overlap and again.volume is None
    assert loadstone.sample(arrays, seed=3, with_volume=False).overlap != sampled.overlap
    # Of a padded problem only the true associations are sampled.
    for name, part in vars(_problem(padded(original(Stream(0, 3), 6), 4)).arrays()).items():
        np.testing.assert_array_equal(part, getattr(arrays, name))


def test_two_methods_agree(sampled):
    slices = loadstone.sample(PROBLEM.arrays(), seed=5, method="slices", steps=20_000, with_volume=False)
    assert slices.mixing.mixed
    difference = abs(slices.overlap.value - sampled.overlap.value)
    # An overlap of 0.05 less or more would be seen.
    assert difference < 4 * np.hypot(slices.overlap.error, sampled.overlap.error) < 0.05


def test_members_of_a_family_stay_in_it():
    found = loadstone.sample(PROBLEM.arrays(), family="symmetric", with_volume=False)
    assert found.dimension == 6
    for memory in found.typical:
        matrix = np.asarray(memory.matrix())
        assert loadstone.measure(PROBLEM, memory).violations == 0 and np.allclose(matrix, matrix.T, atol=1e-6)


def test_chains_that_have_not_mixed_are_not_averaged():
    found = loadstone.sample(PROBLEM.arrays(), method="slices", steps=24)
    assert not found.mixing.mixed
    assert (found.overlap, found.volume, found.centre, found.typical) == (None, None, None, None)


def test_an_instance_that_cannot_be_stored_is_refused_with_its_proof():
    with pytest.raises(
        NotStorableError, match="is not storable, so there is no memory to sample: No W stores every"
    ) as why:
        loadstone.sample(original(Stream(0, 4), 40))
    assert why.value.outcome == Outcome.NOT_STORABLE


@pytest.mark.parametrize("arguments, sentence", [
    ({"chains": 1}, "chains is 1, but must be a whole number of at least 2"),
    ({"chains": 2.5}, "chains is 2.5"),
    ({"steps": 1}, "steps is 1, but must be a whole number of at least 2"),
    ({"seed": -1}, "seed is -1"),
    ({"method": "gibbs"}, "method is 'gibbs', but must be one of reflections, slices"),
    ({"family": "psd"}, "family is 'psd', but must be linear"),
    ({"family": "low rank"}, "family is 'low rank', but must be linear"),
    ({"instance": "facts"}, "instance is 'a str', but must be a problem, such as facts"),
])  # fmt: skip
def test_what_cannot_be_sampled_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        loadstone.sample(**{"instance": PROBLEM} | arguments)


@pytest.mark.soak
def test_both_methods_and_both_precisions_agree_at_half_the_capacity():
    problem = original(Stream(0, 8), 12)
    starts = starting_points(problem, 8, 0, None)
    found = []
    for method, steps in (("reflections", 2000), ("slices", 400_000)):
        chains = run_chains(problem, in_digits(starts, None, np.float32), steps, 1, method=method)
        assert chains.mixing.mixed
        found.append(overlap(chains.means.reshape(*chains.means.shape[:2], -1)))
    one, other = found
    assert abs(one.value - other.value) < 4 * np.hypot(one.error, other.error) < 0.02


def test_starts_of_a_family_are_members_that_differ():
    starts = starting_points(PROBLEM, 3, 0, Symmetric())
    assert np.allclose(starts, starts.transpose(0, 2, 1)) and np.linalg.norm(starts[0] - starts[1]) > 0.1
    assert np.linalg.norm(starts, axis=(1, 2)) == pytest.approx(3.0)
