"""How chains and volumes are put together, with steps that are given by hand; and samples that were kept."""

from dataclasses import replace
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.memories.subspaces.patterned import Symmetric
from loadstone.problems.decoupled import decoupled
from loadstone.problems.facts import facts
from loadstone.proofs.verdict import Outcome
from loadstone.solvers.solution import Status
from loadstone.space import chains, margins_table, sample, starts, steps, volume
from loadstone.space.chains import Seen, run_chains
from loadstone.space.steps import Walk, begun
from loadstone.space.volume import PATHS
from loadstone.streams.stream import Stream
from tests.space.conftest import PROBLEM

TWO = np.stack([np.eye(3), 2 * np.diag([1.0, 1.0, -1.0])]).astype(np.float32)


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
    (2, 1, 3, 1), (24, 1, 3, 1), (25, 1, 4, 1), (320, 1, 40, 10), (1023, 1, 128, 32), (1024, 2, 64, 16),
    (5000, 9, 70, 18),
])  # fmt: skip
def test_steps_are_rounded_up_to_blocks_of_which_a_quarter_is_forgotten(length, stride, blocks, forgotten, monkeypatch):
    strides, watched_by = [], []

    def block(problem, walk, key, stride, watched, family, method):
        strides.append(int(stride))
        watched_by.append((watched, family, method))
        number = float(len(strides))
        looks = number + np.arange(8 * 2 * 7).reshape(8, 2, 7) / 1000
        return walk, Seen(looks, np.full((2, 3, 3), number), np.array([1, 2]))

    monkeypatch.setattr(chains, "_block", block)
    told = []
    found = run_chains(PROBLEM, jnp.asarray(TWO), length, 5, method="slices", progress=lambda *one: told.append(one))
    assert strides == [stride] * blocks
    assert told == [(100 * number // blocks, "chains") for number in range(1, blocks + 1)]
    assert found.steps == 8 * stride * blocks and found.passes == 3 * blocks
    assert found.means.shape == (2, blocks - forgotten, 3, 3) and found.means[0, 0, 0, 0] == forgotten + 1
    assert found.traces.shape == (2, 8 * (blocks - forgotten), 7)
    # One chain's numbers, look after look: two chains have seven numbers each.
    np.testing.assert_allclose(found.traces[1, :2, 3] - forgotten - 1, [0.010, 0.024])
    assert found.mixing.autocorrelation_time >= stride / 2
    watched, family, method = watched_by[0]
    assert (family, method) == (None, "slices") and watched.shape == (6, 3, 3)
    np.testing.assert_allclose(watched[:2], TWO / np.linalg.norm(TWO, axis=(1, 2), keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(watched, axis=(1, 2)), 1, rtol=1e-6)


class Shares:
    """Rounds of which the shares are given by hand: of pairs (count, following)."""

    def __init__(self, monkeypatch, shares):
        self.asked, self.shares = [], shares
        monkeypatch.setattr(volume, "_fewer", self)

    def __call__(self, problem, walk, key, count, following, family):
        pair = int(count), int(following)
        self.asked.append(pair)
        return walk, np.full((PATHS, 2), self.shares(pair, self.asked.count(pair)))

    def rounds(self):
        return [(pair, self.asked.count(pair)) for pair in dict.fromkeys(self.asked)]


def counted(monkeypatch, shares, outputs=5, n=2, **named):
    made = facts(np.ones((n, 3)), np.arange(3 * outputs).reshape(outputs, 3), targets=[0] * n)
    given = Shares(monkeypatch, shares)
    return given, volume.volume(made, begun(jnp.asarray(TWO)), 0, **named)


def test_rivals_are_taken_away_by_halves_from_the_last_association_on(monkeypatch):
    told = []
    given, found = counted(monkeypatch, lambda pair, time: 0.5, progress=lambda *parts: told.append(parts))
    # One round to forget, and one that counts.
    assert given.rounds() == [((7, 10), 2), ((6, 7), 2), ((5, 6), 2), ((2, 5), 2), ((1, 2), 2), ((0, 1), 2)]
    assert found.log == pytest.approx((6 * np.log(0.5), 0)) and told == [(50, "volume"), (100, "volume")]
    np.testing.assert_allclose(found.log_shares, [3 * np.log(0.5)] * 2)


def test_where_a_share_is_small_fewer_rivals_are_taken_away(monkeypatch):
    given, found = counted(monkeypatch, lambda pair, time: 0.049 if pair[1] - pair[0] > 1 else 0.3, outputs=9, n=1)
    # 4 of 9 are too few, and so are 4 of 6, 6 of 9, 2 of 4: each is halved.
    assert [pair for pair, rounds in given.rounds() if rounds == 2] == [
        (8, 9), (7, 8), (6, 7), (5, 6), (4, 5), (3, 4), (2, 3), (1, 2), (0, 1)
    ]  # fmt: skip
    assert found.log.value == pytest.approx(9 * np.log(0.3))
    given, found = counted(monkeypatch, lambda pair, time: 0.05, n=1)
    assert given.rounds() == [((2, 5), 2), ((1, 2), 2), ((0, 1), 2)] and found.log.value == pytest.approx(
        3 * np.log(0.05)
    )


def test_a_share_that_nobody_sees_ends_after_the_most_rounds(monkeypatch):
    given, found = counted(monkeypatch, lambda pair, time: 0.0 if pair == (0, 1) else 0.5, outputs=2, n=1)
    assert found is None and given.rounds() == [((1, 2), 2), ((0, 1), 257)]
    # The first share that is seen is enough beyond the rounds that were planned.
    given, found = counted(monkeypatch, lambda pair, time: float(time == 4) if pair == (0, 1) else 0.5, outputs=2, n=1)
    assert given.rounds() == [((1, 2), 2), ((0, 1), 257)] and found is not None


def test_the_first_round_is_not_counted(monkeypatch):
    given, found = counted(monkeypatch, lambda pair, time: 0.9 if time == 1 else 0.25, outputs=2, n=1)
    assert found.log.value == pytest.approx(2 * np.log(0.25))


def test_as_many_margins_are_carried_as_fit():
    problem = SimpleNamespace(inputs=np.zeros((5000, 1)), competitors=1000)
    assert margins_table.fits(problem, 5) and not margins_table.fits(problem, 6)


def test_starts_are_trained_where_that_pays_and_proved_elsewhere(monkeypatch):
    asked = []

    def trained(problem, memory, solver, stop):
        asked.append((np.asarray(memory.matrix()), solver, stop))
        return SimpleNamespace(memory=memory, status=status)

    monkeypatch.setattr(starts, "solve", trained)
    assert not starts.is_worth_compiling(4, 4, 3)  # so few are proved
    found = starts.starting_points(PROBLEM, 2, 7, None)
    assert not asked and np.linalg.norm(found, axis=(1, 2)) == pytest.approx(3.0)
    monkeypatch.setattr(starts, "is_worth_compiling", lambda n, m, d: (n, m, d) == (4, 4, 3))
    status = Status.STORED
    found = starts.starting_points(PROBLEM, 2, 7, None)
    assert [one[1:] for one in asked] == [("lbfgs", "exact")] * 2
    np.testing.assert_allclose(found[1], asked[1][0] * 3 / np.linalg.norm(asked[1][0]), rtol=1e-6)
    status = Status.OUT_OF_PASSES  # one that is not trained is proved, with all others
    np.testing.assert_array_equal(
        starts.starting_points(PROBLEM, 2, 7, None), [starts._proved(PROBLEM.arrays(), seed, None) for seed in (7, 8)]
    )


def test_what_is_not_decided_is_said_to_be_undecided(monkeypatch):
    verdict = SimpleNamespace(witness=None, verdict=Outcome.UNDECIDED)
    monkeypatch.setattr(starts, "decide", lambda arrays, start, family: verdict)
    monkeypatch.setattr(starts, "in_words", lambda verdict: "why")
    with pytest.raises(starts.NotStorableError, match="is undecided, so there is no memory to sample: why") as error:
        starts._proved(PROBLEM.arrays(), 0, None)
    assert error.value.outcome == Outcome.UNDECIDED


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
