"""How chains and volumes are put together, with shares that are given by hand; and samples that were kept."""

from dataclasses import replace
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

import loadstone
from loadstone.memories.full import Full
from loadstone.memories.subspaces.patterned import Symmetric
from loadstone.problems.decoupled import decoupled
from loadstone.problems.facts import facts
from loadstone.problems.original import original
from loadstone.space import margins_table, sample, starts, steps
from loadstone.space.chains import run_chains
from loadstone.space.starts import starting_points
from loadstone.space.steps import Walk, begun
from loadstone.space.volume import PATHS, stage_shares
from loadstone.streams.stream import Stream
from tests.space.conftest import PROBLEM


def test_a_seed_gives_the_samples_that_it_gave(sampled):
    """A path of a quarter circle forgets its rounding, so that other processors give the same numbers."""
    assert sampled.mixing.r_hat == pytest.approx(1.00895, rel=1e-3) and (sampled.steps, sampled.dimension) == (320, 9)
    assert sampled.mixing.effective_samples == pytest.approx(915.6, rel=2e-3)
    assert sampled.mixing.autocorrelation_time == pytest.approx(1.04847, rel=2e-3)
    assert sampled.overlap == pytest.approx((0.536831, 0.0058457), rel=2e-3)
    assert sampled.volume.log == pytest.approx((-6.56848, 0.609078), rel=2e-3)
    np.testing.assert_allclose(sampled.volume.log_shares, [-1.64834, -2.61251, -0.135803, -2.17183], rtol=2e-3)
    np.testing.assert_allclose(sampled.volume.errors, [0.488098, 0.301145, 0.0243838, 0.203601], rtol=2e-3)
    assert sampled.passes == pytest.approx(9734, rel=2e-3) and 0 < sampled.seconds < 300
    np.testing.assert_allclose(np.diag(sampled.centre.matrix()), [0.06352, -0.13355, 0.20145], atol=2e-4)
    np.testing.assert_allclose(np.diag(sampled.typical[0].matrix()), [0.09199, -0.12273, 0.13485], atol=2e-4)


@pytest.mark.parametrize("length, stride, blocks, forgotten", [
    (2, 1, 3, 1), (25, 1, 4, 1), (320, 1, 40, 10), (1024, 2, 64, 16),
])  # fmt: skip
def test_steps_are_rounded_up_to_blocks_of_which_a_quarter_is_forgotten(length, stride, blocks, forgotten):
    told, begin = [], jnp.asarray(starting_points(PROBLEM, 2, 7, None), jnp.float32)
    found = run_chains(PROBLEM, begin, length, 5, method="slices", progress=lambda *one: told.append(one))
    assert found.steps == found.passes / 2 == 8 * stride * blocks and told[-1] == (100, "chains")
    assert found.means.shape == (2, blocks - forgotten, 3, 3) and len(told) == blocks
    assert found.traces.shape == (2, 8 * (blocks - forgotten), 7) and found.mixing.autocorrelation_time >= stride / 2
    # Cosines with both starts and four other directions, and the least margin.
    cosines, margins = found.traces[..., :6], found.traces[..., 6]
    assert abs(cosines).max() <= 1 + 1e-5 and margins.min() > 0
    if stride == 1:  # then means are over the memories that are watched
        directions = begin.reshape(2, 9) / np.linalg.norm(begin.reshape(2, 9), axis=1, keepdims=True)
        means = found.means.reshape(2, -1, 9).mean(axis=1) @ directions.T
        np.testing.assert_allclose(means, cosines[..., :2].mean(axis=1), atol=1e-4)


class Rounds:
    """Shares that are given by hand, of pairs (fewer, more), instead of paths."""

    def __init__(self, share):
        self.share, self.asked = share, []

    def __call__(self, walk, fewer, more):
        self.asked.append((fewer, more))
        return walk, np.full((PATHS, 2), self.share((fewer, more), self.asked.count((fewer, more))))

    def counts(self):
        return [(pair, self.asked.count(pair)) for pair in dict.fromkeys(self.asked)]


def test_rivals_are_taken_away_by_halves_from_the_last_association_on():
    told, given = [], Rounds(lambda pair, time: 0.5)
    shares, rows = stage_shares(given, None, 2, 5, progress=lambda *parts: told.append(parts))
    # One round to forget, and one that counts.
    assert given.counts() == [((7, 10), 2), ((6, 7), 2), ((5, 6), 2), ((2, 5), 2), ((1, 2), 2), ((0, 1), 2)]
    assert (shares == 0.5).all() and rows.tolist() == [1, 1, 1, 0, 0, 0] and told == [(50, "volume"), (100, "volume")]


def test_where_a_share_is_small_fewer_rivals_are_taken_away():
    given = Rounds(lambda pair, time: 0.049 if pair[1] - pair[0] > 1 else 0.3)
    shares, _ = stage_shares(given, None, 1, 9)
    # 4 of 9 are too few, and so are 4 of 6, 6 of 9, 2 of 4: each is halved.
    assert [pair for pair, rounds in given.counts() if rounds == 2] == [(one, one + 1) for one in range(8, -1, -1)]
    assert shares.shape == (9, 2) and np.allclose(shares, 0.3)
    given = Rounds(lambda pair, time: 0.05)
    stage_shares(given, None, 1, 5)
    assert given.counts() == [((2, 5), 2), ((1, 2), 2), ((0, 1), 2)]


def test_a_share_that_nobody_sees_ends_after_the_most_rounds():
    given = Rounds(lambda pair, time: 0.0 if pair == (0, 1) else 0.5)
    shares, _ = stage_shares(given, None, 1, 2)
    assert given.counts() == [((1, 2), 2), ((0, 1), 257)] and (shares[1] == 0).all()
    given = Rounds(lambda pair, time: float(time == 4) if pair == (0, 1) else 0.5)
    assert (stage_shares(given, None, 1, 2)[0] > 0).all()


def test_the_first_round_is_not_counted():
    shares, _ = stage_shares(Rounds(lambda pair, time: 0.9 if time == 1 else 0.25), None, 1, 2)
    assert (shares == 0.25).all()


def test_a_start_is_trained_or_there_is_none():
    trained = starts._trained(PROBLEM, 7, None)
    assert np.linalg.norm(trained) == pytest.approx(3.0)
    assert loadstone.measure(PROBLEM, Full(jnp.asarray(trained, jnp.float32))).violations == 0
    assert starts._trained(original(Stream(0, 3), 30), 7, None) is None
    assert np.linalg.norm(starting_points(PROBLEM, 2, 7, None), axis=(1, 2)) == pytest.approx(3.0)


def test_as_many_margins_are_held_as_fit():
    problem = SimpleNamespace(inputs=np.zeros((5000, 1)), competitors=1000)
    assert margins_table.fits(problem, 5) and not margins_table.fits(problem, 6)


def test_starts_that_rounding_would_put_outside_are_held_in_float64():
    problem = facts(np.eye(2), np.eye(2), targets=[0, 1])
    inside, outside = np.eye(2), np.array([[1.0, 1 - 1e-12], [1 - 1e-12, 1.0]])
    found, doubled = sample._inside(problem, np.stack([inside, outside]), None)
    assert doubled and found.dtype == np.float64
    np.testing.assert_array_equal(found[1], outside)
    found, doubled = sample._inside(problem, inside[None], None)
    assert not doubled and found.dtype == np.float32
    symmetric = starts.in_digits(np.array([[[1.0, 2.0], [0.0, 1.0]]]), Symmetric(), np.float32)
    np.testing.assert_allclose(symmetric, [[[1, 1], [1, 1]]])


def test_an_instance_needs_rivals_and_not_too_many_pairs():
    def of_size(n, m):
        return sample._problem(facts(np.ones((n, 1)), np.ones((m, 1)), targets=np.zeros(n, int)))

    two = of_size(4, 2)
    with pytest.raises(ValueError, match="outputs is '1 of them', but must be at least two, since one has no rival"):
        sample._problem(replace(two, outputs=two.outputs[:1]))
    assert of_size(2**15, 2**16 - 1).competitors == 2**16 - 1 and of_size(1, 2).competitors == 2
    with pytest.raises(ValueError, match="is 2147483648, but must be fewer than 2.31"):
        of_size(2**15, 2**16)
    assert type(sample._problem(decoupled(Stream(0, 3), 3).arrays())).__name__ == "Separate"


def test_a_chain_goes_back_from_a_memory_that_does_not_store_everything():
    """The first moves on, the second goes back to where it came from, and so does the third, on a wall."""
    here, before, moved = (np.full((3, 1, 1), value) for value in (1.0, 2.0, 3.0))
    walk = Walk(jnp.asarray(here), jnp.asarray(before), jnp.asarray([0.1, 0.2, 0.3]))
    found = steps._kept(walk, jnp.asarray(moved), jnp.asarray([0.5, -0.5, 0.0]))
    assert found.weights.ravel().tolist() == [3, 2, 2] and found.before.ravel().tolist() == [1, 2, 2]
    np.testing.assert_allclose(found.margin, [0.5, 0.2, 0.3], rtol=1e-6)
    assert begun(jnp.asarray(here)).margin.tolist() == [0, 0, 0]
