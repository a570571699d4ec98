"""Exact capacities against a linear program, against monotony, and against the prediction without free parameters."""

import numpy as np
import pytest

import loadstone
from loadstone.problems.instance import Instance
from loadstone.proofs.rounding import least_margin
from loadstone.solvers.decide import ProofLimits
from loadstone.streams.stream import Stream
from loadstone.tasks.capacity import exact_capacity
from loadstone.theory.answers import facts_capacity, memories_seen
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.storable import probability_facts_storable, probability_storable
from tests.solvers.linear_program import largest_margin


@pytest.mark.parametrize("kind", ["original", "decoupled"])
@pytest.mark.parametrize("seed", range(3))
def test_capacity_is_where_a_linear_program_says(kind, seed):
    instance = Instance(Stream(seed, 4), 8, kind=kind)
    p_c = exact_capacity(instance).p_c
    assert largest_margin(instance.first(p_c).arrays()) > 1e-7 > largest_margin(instance.first(p_c + 1).arrays())


@pytest.mark.parametrize("around", [2, 8, pytest.param(40, marks=pytest.mark.soak), 200])
def test_the_guess_does_not_matter_and_every_verdict_is_told(around):
    told = []
    exact = exact_capacity(
        Instance(Stream(4, 8), around), progress=lambda p, verdict: told.append((p, verdict.verdict))
    )
    assert exact.p_c == exact.storable == exact.not_storable - 1 == exact_capacity(Instance(Stream(4, 8), 20)).p_c
    assert told == list(exact.verdicts) and told[0][0] == around
    assert len({p for p, _ in told}) == len(told) <= 4 * np.log2(8 * max(around, exact.p_c))
    assert all(verdict == ("storable" if p <= exact.p_c else "not storable") for p, verdict in told)


def test_one_dimension():
    # Only the sign of W matters: p_c + 1 is the first p at which neither sign stores all.
    for seed in range(6):
        p_c = exact_capacity(Instance(Stream(seed, 1), 2)).p_c

        def stored(p, sign):
            arrays = Instance(Stream(seed, 1), p).arrays()  # noqa: B023
            return np.all((sign * arrays.inputs @ arrays.outputs.T).argmax(axis=1) == np.arange(p))

        assert p_c == 1 or stored(p_c, 1) or stored(p_c, -1)
        assert not stored(p_c + 1, 1) and not stored(p_c + 1, -1)


@pytest.mark.parametrize(
    "d, streams", [(8, 30), *(pytest.param(d, n, marks=pytest.mark.soak) for d, n in ((12, 50), (20, 12)))]
)
def test_decoupled_streams_follow_the_kinematic_formula(d, streams):
    middle = round(float(capacity_associations(d)))
    capacities = np.array(
        [exact_capacity(Instance(Stream(1000 + s, d), middle, kind="decoupled")).p_c for s in range(streams)]
    )
    for p in range(middle - 5, middle + 6):
        expected = probability_storable(p, d)
        # Four binomial deviations, and one stream where hardly any is expected.
        tolerance = 4 * np.sqrt(expected * (1 - expected) / streams) + 1 / streams
        assert abs((capacities >= p).mean() - expected) < tolerance, p


@pytest.mark.parametrize("kind", ["original", "decoupled"])
@pytest.mark.parametrize("answers, frequencies", [(2, "uniform"), (3, "zipf:1"), (12, "balanced")])
def test_capacity_with_given_answers_is_where_a_linear_program_says(kind, answers, frequencies):
    stream = Stream(1, 4)
    instance = Instance(stream, 12, kind=kind, answers=answers, frequencies=frequencies)
    p_c = exact_capacity(instance).p_c
    assert largest_margin(instance.first(p_c).arrays()) > 1e-7 > largest_margin(instance.first(p_c + 1).arrays())
    arrays = instance.first(3).arrays()
    assert arrays.outputs.shape[-2] == answers and len(arrays.targets) == 3
    np.testing.assert_array_equal(arrays.targets, stream.targets(3, answers, frequencies))


def test_two_shared_answers_follow_cover_s_theorem():
    """One weight vector, W^T (u_1 - u_2), and N random signs: exact at every size, unlike for more answers."""
    d, streams = 5, 60
    capacities = np.array([exact_capacity(Instance(Stream(s, d), 10, answers=2)).p_c for s in range(streams)])
    room = memories_seen("full", d, answers=2)
    for facts in range(6, 15):
        expected = probability_facts_storable(facts, 2, memories=room)
        tolerance = 4 * np.sqrt(expected * (1 - expected) / streams) + 1 / streams
        assert abs((capacities >= facts).mean() - expected) < tolerance, facts


@pytest.mark.parametrize("kind, answers", [("original", 30), pytest.param("decoupled", 5, marks=pytest.mark.soak)])
def test_streams_with_given_answers_follow_the_law(kind, answers):
    d, streams = 8, 10
    predicted = facts_capacity("full", d, answers=answers, decoupled=kind == "decoupled")
    found = [
        exact_capacity(Instance(Stream(s, d), round(predicted), kind=kind, answers=answers, frequencies="balanced")).p_c
        for s in range(streams)
    ]
    # Four standard errors, and the few per cent by which shared outputs hold more at this size.
    assert abs(np.mean(found) - predicted) < 4 * np.std(found) / np.sqrt(streams) + 0.04 * predicted


@pytest.mark.soak
def test_original_streams_hold_a_little_more():
    shared = [exact_capacity(Instance(Stream(s, 12), 40)).p_c for s in range(40)]
    # Seen over many streams: about 1.7 more at d = 12, with a deviation near 2.6.
    assert 40.0 < np.mean(shared) < 43.5


def test_an_undecided_verdict_leaves_an_interval():
    nothing = exact_capacity(Instance(Stream(0, 20), 88), ProofLimits(steps=1))
    assert (nothing.p_c, nothing.storable, nothing.not_storable, nothing.witness) == (None, 1, 2**31, None)
    assert nothing.verdicts == ((88, "undecided"),)
    # Few steps decide far from the capacity of 88, and not close to it.
    for around, steps in ((50, 3), (50, 4), (300, 4)):
        some = exact_capacity(Instance(Stream(0, 20), around), ProofLimits(steps=steps))
        *decided, (last, outcome) = some.verdicts
        assert some.p_c is None and outcome == "undecided" and some.storable < last < some.not_storable
        assert some.storable == max((p for p, verdict in decided if verdict == "storable"), default=1) < 88
        assert some.not_storable == min((p for p, verdict in decided if verdict == "not storable"), default=2**31) > 88
        assert least_margin(Instance(Stream(0, 20), some.storable).arrays(), some.witness) > 0


def test_the_witness_stores_what_it_should():
    instance = Instance(Stream(2, 6), 15, kind="decoupled")
    exact = exact_capacity(instance)
    arrays = instance.first(exact.p_c).arrays()
    assert least_margin(arrays, exact.witness) > 0


def test_the_old_name_takes_what_it_took_and_says_where_it_went():
    with pytest.warns(DeprecationWarning, match="instance_capacity is loadstone.tasks.capacity.exact_capacity now"):
        old = loadstone.instance_capacity
    stream, options = Stream(3, 5), {"answers": 4, "frequencies": "balanced"}
    new = exact_capacity(Instance(stream, 5, kind="decoupled", **options), family="symmetric")
    assert old("decoupled", stream, family="symmetric", **options).verdicts == new.verdicts
    assert old("original", stream, around=9).verdicts[0][0] == old("original", stream, 9).verdicts[0][0] == 9
    assert old("original", stream, 9, ProofLimits(steps=1), None, 4, "balanced", "symmetric").verdicts[0][0] == 9
    with pytest.raises(ValueError, match="around is 0, but must be a whole number of at least 1"):
        old("original", stream, around=0)


@pytest.mark.parametrize("kind", ["original", pytest.param("decoupled", marks=pytest.mark.soak)])
def test_the_covariance_of_the_embeddings_does_not_change_the_capacity(kind):
    """Seed by seed and verdict by verdict: W -> A^-T W B^-1 stores what W does with outputs A u and inputs B e."""
    for seed in range(4):
        white = exact_capacity(Instance(Stream(seed, 7), 16, kind=kind))
        for law in ("power law:0.5", "power law:3"):
            skewed = exact_capacity(Instance(Stream(seed, 7, law=law), 16, kind=kind))
            assert (skewed.p_c, skewed.verdicts) == (white.p_c, white.verdicts)
    assert white.p_c is not None
