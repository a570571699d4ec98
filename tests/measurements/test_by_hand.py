"""Measurements against their definitions, written out on small arrays, and the order in which searches ask."""

import math
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from loadstone.estimate import Estimate
from loadstone.measurements import noise, ranks, scores
from loadstone.measurements.accuracy import TopScores
from loadstone.memories.full import Full
from loadstone.memories.low_rank import LowRank
from loadstone.memories.rounding import rounded_to_bits
from loadstone.problems.arrays import Arrays
from loadstone.problems.budget import Budget
from loadstone.problems.facts import facts
from loadstone.problems.instance import Instance
from loadstone.problems.original import original
from loadstone.proofs.verdict import Outcome
from loadstone.solvers.margin import NoMarginError
from loadstone.solvers.newton import Undecided
from loadstone.space.diagnostics import Mixing
from loadstone.space.sample import Sampled
from loadstone.space.starts import NotStorableError
from loadstone.streams.stream import Stream
from loadstone.tasks import approach, bits, edits, reach, space
from loadstone.tasks import capacity as threshold
from loadstone.tasks import margin as robustness
from loadstone.tasks.bits import Bits, largest_rounded
from loadstone.tasks.edits import Edits
from loadstone.tasks.multi_start import MultiStart
from loadstone.tasks.reach import largest_stored
from loadstone.tasks.short_lists import recalled_in_list
from loadstone.tasks.space import Space, space_of
from tests.measurements.stand_ins import Associations, searched

RANDOM = np.random.default_rng(7)


def drawn(n, m, d, decoupled=False):
    outputs = RANDOM.standard_normal((n, m, d) if decoupled else (m, d))
    return Arrays(RANDOM.standard_normal((n, d)), outputs, RANDOM.integers(m, size=n))


INSTANCES = [drawn(4, 5, 3), drawn(4, 5, 3, decoupled=True)]
WEIGHTS = RANDOM.standard_normal((3, 3))


def rivals_of(arrays, row):
    """The margin of each rival and its plane, the most dangerous first."""
    outputs = arrays.outputs[row] if arrays.decoupled else arrays.outputs
    apart = np.delete(outputs[arrays.targets[row]] - outputs, arrays.targets[row], axis=0)
    found = [(difference @ WEIGHTS @ arrays.inputs[row], difference @ WEIGHTS) for difference in apart]
    return sorted(found, key=lambda one: one[0] / np.linalg.norm(one[1]))


@pytest.mark.parametrize("arrays", INSTANCES, ids=["shared", "decoupled"])
@pytest.mark.parametrize("sigma", [0.3, 1.5])
def test_recall_from_noisy_inputs_rival_by_rival(arrays, sigma):
    predicted, least, most = [], [], []
    for row in range(4):
        mean, covariance, chance, lost = np.zeros(3), np.eye(3), 1.0, []
        for margin, plane in rivals_of(arrays, row):
            plane = sigma * plane
            lost.append(norm.sf(margin / np.linalg.norm(plane)))
            deviation = math.sqrt(plane @ covariance @ plane)
            safety = (margin + plane @ mean) / deviation
            chance *= norm.cdf(safety)
            # A standard normal number above -safety has this mean, and its variance is 1 - mean (mean + safety).
            shift = norm.pdf(safety) / norm.cdf(safety)
            along = covariance @ plane / deviation
            mean, covariance = mean + shift * along, covariance - shift * (shift + safety) * np.outer(along, along)
        predicted.append(chance)
        least.append(max(0, 1 - sum(lost)))
        most.append(1 - lost[0])
    found = noise.predicted_noisy_accuracy(arrays, Full(WEIGHTS), noise=sigma)
    assert found.predicted == pytest.approx(np.mean(predicted), rel=1e-9)
    assert (found.at_least, found.at_most) == pytest.approx((np.mean(least), np.mean(most)), rel=1e-9)


@pytest.mark.parametrize("arrays", INSTANCES, ids=["shared", "decoupled"])
def test_noise_is_drawn_input_by_input(arrays):
    random, right = np.random.default_rng(5), []
    for _ in range(6):
        moved = arrays.inputs + 0.7 * random.standard_normal((4, 3))
        outputs = arrays.outputs if arrays.decoupled else [arrays.outputs] * 4
        best = [np.argmax(one @ WEIGHTS @ query) for one, query in zip(outputs, moved)]
        right.append(np.mean(best == arrays.targets))
    share, error = noise.measured_noisy_accuracy(arrays, Full(WEIGHTS), noise=0.7, draws=6, seed=5)
    assert share == pytest.approx(np.mean(right)) and error == pytest.approx(np.std(right, ddof=1) / np.sqrt(6))
    assert (
        0 < share < 1
        and noise.measured_noisy_accuracy(arrays, Full(WEIGHTS), noise=0.7, draws=2)[0] in np.arange(9) / 8
    )
    with pytest.raises(ValueError, match="draws is 1, but must be a whole number of at least 2"):
        noise.measured_noisy_accuracy(arrays, Full(WEIGHTS), noise=0.7, draws=1)


def test_rivals_with_the_vector_of_the_target_are_lost_to_half_the_time():
    """Their plane is zero, and so is their margin: nothing is divided by zero."""
    tied = Arrays(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0], [-9.0, 0.0]]), np.array([0]))
    found = noise.predicted_noisy_accuracy(tied, Full(np.eye(2)), noise=0.01)
    assert (found.predicted, found.at_least, found.at_most) == pytest.approx((0.5, 0.5, 0.5))


def test_what_is_counted_of_scores():
    target, rival = np.array([3.0, 1.0, 2.0, 2.0]), np.array([1.0, 2.0, 2.0, -1.0])
    logsumexp = np.log(np.exp(target) + np.exp(rival)).astype(np.float32)
    losses, plain = logsumexp - target, TopScores(target, rival, logsumexp, problem="it").measurement()
    assert (plain.accuracy, plain.violations, plain.margin, plain.weighted_accuracy) == (0.5, 2, -1.0, 0.5)
    assert plain.loss == pytest.approx(losses.mean()) and plain.problem == "it"
    shares = np.float32([0.5, 0.25, 0.125, 0.125])
    weighed = TopScores(target, rival, logsumexp, shares).measurement()
    assert (weighed.accuracy, weighed.weighted_accuracy) == (0.5, 0.625)
    assert weighed.loss == pytest.approx(np.average(losses, weights=shares))


@pytest.mark.parametrize("at_a_time", [4_000_000, 12])
@pytest.mark.parametrize("most, rows", [(None, range(7)), (14, [0, 2, 4]), (3, [0]), (10**6, range(7))])
def test_non_target_scores_of_evenly_spaced_associations(at_a_time, most, rows, monkeypatch):
    monkeypatch.setattr(scores, "_SCORES_AT_A_TIME", at_a_time)
    problem = facts(RANDOM.standard_normal((7, 3)), RANDOM.standard_normal((4, 3)), targets=[0, 1, 2, 3, 0, 1, 2])
    table = np.asarray(problem.inputs, float) @ WEIGHTS.T @ np.asarray(problem.outputs, float).T
    others = np.delete(table.ravel(), 4 * np.arange(7) + np.asarray(problem.targets)).reshape(7, 3)
    seen, unit = others[list(rows)], others[list(rows)].std()
    found = scores.scores(problem, Full(jnp.asarray(WEIGHTS, jnp.float32)), most=most)
    assert found.unit == pytest.approx(unit, rel=1e-5)
    np.testing.assert_array_equal(found.counts, np.histogram(seen / unit, np.linspace(-8, 8, 321))[0])
    np.testing.assert_allclose(found.first.others, others[0] / unit, rtol=1e-4, atol=1e-6)
    assert found.first.target == pytest.approx(table[0, 0] / unit, rel=1e-4) and len(found.target) == 7
    assert found.first.rival == pytest.approx(others[0].max() / unit, rel=1e-4)


def test_scores_beyond_the_edges_fall_into_the_outermost_bins():
    """A thousand scores of +-1, and two of +-9."""
    inputs = np.array([[1.0], *[[1 / 9]] * 500])
    problem = facts(inputs, np.array([[0.0], [9.0], [-9.0]]), targets=[0] * 501)
    found = scores.scores(problem, Full(jnp.ones((1, 1))))
    assert found.unit == pytest.approx(np.sqrt((2 * 81 + 1000) / 1002)) and found.counts.sum() == 1002
    assert found.counts[[0, -1]].tolist() == [1, 1] and sorted(found.counts)[-2:] == [500, 500]


@pytest.mark.parametrize("block", [10**7, 8, 1])
def test_ranks_of_targets_block_by_block(block, monkeypatch):
    monkeypatch.setattr(ranks, "_SCORES", block)
    problem = facts(RANDOM.standard_normal((7, 3)), RANDOM.standard_normal((4, 3)), targets=[0, 1, 2, 3, 0, 1, 2])
    table = np.asarray(problem.inputs) @ WEIGHTS.T @ np.asarray(problem.outputs).T
    expected = [1 + sum(np.delete(row, target) >= row[target]) for row, target in zip(table, problem.targets)]
    assert ranks.target_ranks(problem, Full(jnp.asarray(WEIGHTS))).tolist() == expected
    for length in (0, 5):
        with pytest.raises(ValueError, match=f"length is {length}, but must be .* at least 1 and at most 4"):
            recalled_in_list(problem, Full(jnp.asarray(WEIGHTS)), length)


def test_after_which_edits_facts_are_counted():
    assert Edits(edits=3).counts() == [1, 2, 3]
    assert Edits(edits=40).counts() == [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 18, 20, 22, 25, 28, 30, 32, 35, 38, 40]
    assert Edits(edits=1000).counts() == [
        1, 2, 6, 13, 32, 62, 75, 125, 178, 188, 250, 312, 375, 422, 438, 500, 562, 625, 688, 750, 812, 875, 938, 1000,
    ]  # fmt: skip


def test_edits_begin_with_a_margin_that_is_found_to_a_hundredth(monkeypatch):
    asked = []

    def refuse(arrays, tolerance):
        asked.append((len(arrays.targets), tolerance))
        raise NoMarginError(Outcome.UNDECIDED, "too few steps")

    monkeypatch.setattr(edits, "maximum_margin", refuse)
    assert edits.edited(Instance(Stream(3, 6), 7), Edits()) == ("undecided", []) and asked == [(7, 0.01)]


def test_rows_of_edits_are_refitted_once_and_kept_rows_come_first(monkeypatch):
    asked = []

    def refit(arrays, order, weights):
        asked.append(order)
        return SimpleNamespace(weights=weights, kept=[row for row in order if row != 9], undecided=[0])

    monkeypatch.setattr(edits, "refit", refit)
    monkeypatch.setattr(edits, "_first", lambda *given: np.eye(6))
    status, found = edits.edited(Instance(Stream(1, 6), 8), Edits("refit", "add", 3))
    assert status == "edited" and asked == [[*range(9)], [*range(10)], [*range(9), 10]]
    assert [(one.edits, one.undecided) for one in found] == [(1, 1), (2, 2), (3, 3)]
    del asked[:]
    edits.edited(Instance(Stream(1, 6), 8), Edits("refit", "change", 2))
    assert asked == [[1, 2, 3, 4, 5, 6, 7, 0], [2, 3, 4, 5, 6, 7, 0, 1]]


def test_bisection_of_rounded_memories(monkeypatch):
    for limit, order in ((6, [6, 8, 7]), (1, [6, 3, 2]), (10, [6, 8, 9, 10]), (4, [6, 3, 4, 5])):
        asked = []
        monkeypatch.setattr(bits, "_stored", lambda instance, how, limit=limit, asked=asked: (
            asked.append(instance.p) or instance.p <= limit))  # fmt: skip
        assert largest_rounded(Instance(Stream(0, 3), 10), Bits(2)) == limit and asked == order


@pytest.fixture
def fresh():
    """Memories of one test are none of another's."""
    bits._memory.cache_clear()
    yield
    bits._memory.cache_clear()


def test_the_centre_of_sampled_memories_is_rounded(fresh, monkeypatch):
    """Hand-made centres: one that stores two of the stream, and none at all."""
    stream, asked = Stream(2**31 + 5, 2), []
    arrays = Instance(stream, 2).arrays()
    centre = (arrays.outputs - arrays.outputs[::-1]).T @ np.linalg.inv(arrays.inputs).T

    def sample(arrays, seed, with_volume):
        asked.append((len(arrays.targets), seed, with_volume))
        return SimpleNamespace(centre=Full(centre) if len(asked) == 1 else None)

    monkeypatch.setattr(bits, "sample", sample)
    assert bits._stored(Instance(stream, 2), Bits(16, "centre"))
    assert bits._stored(Instance(stream, 2), Bits(15, "centre"))  # sampled once for all bits
    assert not bits._stored(Instance(stream, 3), Bits(16, "centre"))
    assert asked == [(2, 5, False), (3, 5, False)]
    np.testing.assert_allclose(bits._memory(Instance(stream, 2), "centre"), centre, rtol=1e-6)

    def refuse(*given, **named):
        raise NotStorableError(Outcome.NOT_STORABLE, "none")

    def refuse_margin(arrays, tolerance):
        assert tolerance == 1e-3
        raise NoMarginError(Outcome.NOT_STORABLE, "none")

    monkeypatch.setattr(bits, "sample", refuse)
    monkeypatch.setattr(bits, "maximum_margin", refuse_margin)
    assert not any(bits._stored(Instance(stream, 4), Bits(16, way)) for way in bits.WAYS)


def searches(monkeypatch, limit):
    """Searches that store up to a limit: the sizes that were asked for."""
    asked = []

    def search(p, *rest):
        asked.append(p)
        return searched("stored" if p <= limit else "out of passes", np.float32(p), passes=2)

    monkeypatch.setattr(reach.SameShape, "first", lambda self, p: Associations(p))
    monkeypatch.setattr(reach, "solve", search)
    return asked


@pytest.mark.parametrize("limit, around, width, order", [
    (110, 100, 0.005, [100, 102, 106, 114, 110, 112, 111]),
    (85, 100, 0.005, [100, 98, 94, 86, 70, 78, 82, 84, 85]),
    (85, 100, 0.05, [100, 98, 94, 86, 70, 78, 82]),
    (12, 10, 0.005, [10, 11, 13, 12]),
    (1, 10, 0.005, [10, 9, 7, 3, 2]),
    (3, 4, 0.005, [4, 3]),
])  # fmt: skip
def test_in_which_order_a_bracket_is_closed(limit, around, width, order, monkeypatch):
    """From a guess by 2 % or one, then twice as far, then the middle."""
    asked = searches(monkeypatch, limit)
    found = largest_stored(Instance(Stream(0, 8), around), searches=MultiStart(width=width))
    assert asked == order and [one.p for one in found.attempts] == order
    assert {one.passes for one in found.attempts} == {2} and found.memory == (found.stored if limit > 1 else None)


def test_further_starts_go_on_upwards_by_the_width(monkeypatch):
    """The first start stores up to 400, the second up to 420."""
    seeds, asked = [], []
    monkeypatch.setattr(reach.SameShape, "first", lambda self, p: Associations(p))
    monkeypatch.setattr(reach, "initial_memory", lambda d, kappa, seed, family: seeds.append(seed) or np.float32(seed))

    def search(p, memory, *rest):
        asked.append(p)
        good = p <= (400 if memory == 5 else 420)
        return searched("stored" if good else "out of passes", memory, passes=2)

    monkeypatch.setattr(reach, "solve", search)
    found = largest_stored(Instance(Stream(5, 8), 400), searches=MultiStart(starts=2, width=0.02))
    tried = [(one.p, one.stored, one.passes, one.start) for one in found.attempts]
    assert tried == [
        (400, True, 2, "start 1"), (408, False, 2, "start 1"), (408, True, 4, "start 2"), (416, True, 4, "start 2"),
        (424, False, 4, "start 2"),
    ]  # fmt: skip
    assert (found.stored, found.not_stored) == (416, 424) and set(seeds) == {5, 5 + 2**32}


def test_a_list_has_at_most_all_rivals_but_one(monkeypatch):
    asked = []
    searches(monkeypatch, 5)
    monkeypatch.setattr(reach, "listwise", lambda problem, rivals: asked.append((problem, rivals)) or problem)
    largest_stored(Instance(Stream(0, 8), 6), searches=MultiStart(rivals=4))
    assert asked == [(6, 4), (5, 3)]
    del asked[:]
    largest_stored(Instance(Stream(0, 8), 6), searches=MultiStart(rivals=2))
    assert asked == [(6, 2), (5, 2)]


@pytest.mark.parametrize("around, longest", [(20, 24), (1000, 1151), (1001, 1024), (6400, 6528), (7166, 7424)])
def test_how_long_padded_problems_are(around, longest, monkeypatch):
    made = []
    monkeypatch.setattr(Instance, "problem", lambda self, budget: (
        made.append(self.p) or SimpleNamespace(inputs=np.zeros((self.p, 1)))))  # fmt: skip
    monkeypatch.setattr(Instance, "in_shape_of", lambda self, longer: (len(longer.inputs), self.p))
    problems = reach.SameShape(Instance(Stream(0, 3), around), None)
    assert problems.first(around) == (longest, around) and problems.first(longest) == (longest, longest)
    assert made == [longest] and problems.first(longest + 1)[1] == longest + 1 and len(made) == 2


def verdicts(monkeypatch, p_c, undecided=()):
    asked = []

    def decide(instance, limits, start, family):
        p = instance.p
        asked.append((p, start))
        outcome = Outcome.STORABLE if p <= p_c else Outcome.NOT_STORABLE
        outcome = Outcome.UNDECIDED if p in undecided else outcome
        return SimpleNamespace(verdict=outcome, seconds=0.5, last=f"last of {p}", witness=np.full((4, 4), float(p)))

    monkeypatch.setattr(threshold, "decide", decide)
    return asked


@pytest.mark.parametrize("p_c, around, order", [
    (20, 16, [16, 17, 19, 23, 21, 20]), (20, 40, [40, 38, 34, 26, 10, 18, 22, 20, 21]), (1, 5, [5, 4, 2]),
    (1, 2, [2]), (5, 1, [2, 3, 5, 9, 7, 6]), (3, None, [4, 3]), (70, 64, [64, 68, 76, 72, 70, 71]),
])  # fmt: skip
def test_in_which_order_a_capacity_is_enclosed(p_c, around, order, monkeypatch):
    """By a sixteenth of the guess or one, then twice as far, then the middle; from the last memory."""
    asked, told = verdicts(monkeypatch, p_c), []
    found = threshold.instance_capacity(
        "original", Stream(0, 4), around=around, progress=lambda p, verdict: told.append(p)
    )
    assert [p for p, _ in asked] == told == order and found.p_c == found.storable == p_c
    assert [start for _, start in asked] == [None, *(f"last of {p}" for p in order[:-1])]
    assert found.not_storable == p_c + 1 and found.seconds == 0.5 * len(order)
    assert found.witness is None if p_c == 1 else found.witness[0, 0] == p_c


def test_an_undecided_verdict_ends_a_search_with_what_is_known(monkeypatch):
    verdicts(monkeypatch, 20, {23})
    found = threshold.instance_capacity("original", Stream(0, 4), around=16)
    assert (found.p_c, found.storable, found.not_storable, found.seconds) == (None, 19, 2**31, 2.0)
    verdicts(monkeypatch, 20, {20})
    found = threshold.instance_capacity("original", Stream(0, 4), around=16)
    assert (found.p_c, found.storable, found.not_storable, found.witness[0, 0]) == (None, 19, 21, 19)


@pytest.mark.parametrize("kind, answers, numbers", [
    ("original", None, 3 * 6), ("original", 9, 3 * 9), ("original", 2, 3 * 6), ("decoupled", None, 3 * 36),
    ("decoupled", 2, 3 * 12), ("groups:2", 5, 3 * 30),
])  # fmt: skip
def test_a_verdict_takes_28_bytes_a_number(kind, answers, numbers, monkeypatch):
    asked = []
    monkeypatch.setattr(Budget, "require", lambda self, size, what: asked.append((size, what)))
    instance = Instance(Stream(0, 3), 6, kind=kind, answers=answers)
    assert len(instance.arrays().targets) == 6 and len(instance.first(4).arrays().targets) == 4
    assert asked == [(28 * numbers, f"a verdict on the {kind} problem")]


def test_newton_that_does_not_decide_is_out_of_passes(monkeypatch):
    def give_up(self):
        raise Undecided("too few steps")

    monkeypatch.setattr(approach.NewtonSearch, "run", give_up)
    found = approach._newton(drawn(6, 6, 3), 5)
    assert (found.p, found.stored, found.status, found.passes) == (6, False, "out of passes", 1)
    monkeypatch.setattr(approach, "proved_capacity", lambda *given: SimpleNamespace(p_c=2))
    attempts = approach.approach(Instance(Stream(0, 3), 4), approach.PassesNearCapacity("newton")).attempts
    assert [one.p for one in attempts] == [2] * 6  # at least two


def test_a_margin_that_is_not_proved_is_called_so(monkeypatch):
    asked = []

    def margin(gap):
        monkeypatch.setattr(robustness, "maximum_margin", lambda instance, tolerance: (
            asked.append(tolerance) or SimpleNamespace(memory=Full(WEIGHTS), gap=gap)))  # fmt: skip
        return robustness.robustness(INSTANCES[0], seed=3)

    assert (margin(1e-6).status, margin(1.1e-6).status) == ("proved", "not proved") and asked == [1e-6] * 2
    recalls = margin(0.0).recalls
    assert [one.noise for one in recalls] == [0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2]
    assert (recalls[4].recalled, recalls[4].error) == noise.measured_noisy_accuracy(
        INSTANCES[0], Full(WEIGHTS), noise=0.6, draws=100, seed=3
    )


def sampled(mixed=True, volume=None, r_hat=1.01):
    matrices = [np.diag([3.0, 1.0, 2.0]), WEIGHTS]
    mean = sum(one / np.linalg.norm(one) for one in matrices) / 2
    mixing = Mixing(r_hat, 50.0, 4.0)
    if not mixed:
        return Sampled(mixing, None, None, None, None, 9, 320, 1000, 1.0)
    return Sampled(mixing, Estimate(0.3, 0.01), volume, Full(mean), tuple(map(Full, matrices)), 9, 320, 1000, 1.0)


def test_a_record_of_sampled_memories_by_hand(monkeypatch):
    arrays, asked = INSTANCES[0], []
    given = iter([sampled(volume=SimpleNamespace(log=Estimate(-5.0, 0.1))), sampled(), sampled(False, r_hat=np.inf)])
    monkeypatch.setattr(space, "sample", lambda *args, **named: asked.append((args[1:], named)) or next(given))
    tolerances = []
    monkeypatch.setattr(space, "maximum_margin", lambda arrays, tolerance: (
        tolerances.append(tolerance) or SimpleNamespace(memory=Full(np.eye(3)))))  # fmt: skip
    found = space_of(arrays, Space(chains=2, scores=True), 7)
    assert asked == [((2, 320, 7, "full"), {"with_volume": True})] and tolerances == [1e-4]
    assert found["status"] == "sampled" and (found["log_volume"], found["log_volume_error"]) == (-5.0, 0.1)
    assert (found["overlap"], found["overlap_error"], found["dimension"]) == (0.3, 0.01, 9)
    assert (found["r_hat"], found["effective_samples"], found["autocorrelation_time"]) == (1.01, 50.0, 4.0)
    assert found["typical_singular_values"][0] == pytest.approx([2, 4 / 3, 2 / 3])
    assert found["centre_length"] == pytest.approx(np.linalg.norm(sampled().centre.weights))
    seen = found["memories"]["largest margin"]
    unit = np.eye(3) / np.sqrt(3)
    margins = lambda weights: [  # noqa: E731
        min(np.delete(table[target] - table, target))
        for table, target in zip(arrays.inputs @ weights.T @ arrays.outputs.T, arrays.targets)
    ]
    assert seen["margin"] == pytest.approx(min(margins(unit))) and seen["bits"] == [8, 4, 2, 1]
    assert seen["recalled_rounded"] == [np.mean(np.array(margins(rounded_to_bits(unit, b))) > 0) for b in (8, 4, 2, 1)]
    assert (
        seen["recalled"][2] == noise.measured_noisy_accuracy(arrays, Full(np.eye(3)), noise=0.3, draws=100, seed=7)[0]
    )
    assert list(found["memories"]) == ["typical", "centre", "largest margin"]
    kept = found["typical_scores"]
    tables = [arrays.inputs @ w.T @ arrays.outputs.T / np.linalg.norm(arrays.inputs @ w.T, axis=1)[:, None]
              for w in (np.diag([3.0, 1.0, 2.0]), WEIGHTS)]  # fmt: skip
    target = np.concatenate([table[np.arange(4), arrays.targets] for table in tables])
    others = np.stack([np.delete(row, t) for table in tables for row, t in zip(table, arrays.targets)])
    for name, values in (("target", target), ("rival", others.max(axis=1)), ("others", others.ravel())):
        assert kept[name] == np.histogram(values, np.linspace(-6, 6, 121))[0].tolist()
        assert kept["moments"][name] == pytest.approx({"mean": values.mean(), "deviation": values.std()})
    assert kept["moments"]["margin"]["mean"] == pytest.approx(np.mean(target - others.max(axis=1)))
    assert (kept["low"], kept["high"]) == (-6.0, 6.0)
    # Of a family there is no more than overlap and volume; without either there is less.
    family = space_of(arrays, Space(volume=False), 7, "symmetric")
    assert family.keys() == {"status", "r_hat", "effective_samples", "autocorrelation_time", "steps", "passes",
                             "overlap", "overlap_error", "dimension"}  # fmt: skip
    apart = space_of(arrays, Space(), 7)
    assert apart.pop("status") == "not mixed" and apart["r_hat"] == 1e9 and len(apart) == 5


def test_a_largest_margin_that_is_not_found_is_left_out(monkeypatch):
    def refuse(arrays, tolerance):
        raise NoMarginError(Outcome.UNDECIDED, "too few steps")

    monkeypatch.setattr(space, "maximum_margin", refuse)
    assert list(space._three(INSTANCES[0], sampled())) == ["typical", "centre"]


def test_how_many_searches_there_are_at_most():
    more = [{}, {"starts": 3}, {"grown": True}, {"truncated": True}, {"alternating": True}]
    assert [MultiStart(**one).searches for one in more] == [1, 3, 2, 3, 3]
    MultiStart(truncated=True, alternating=True).check(LowRank(np.ones((3, 1)), np.ones((3, 1))))
    MultiStart().check(Full(WEIGHTS))


def test_the_scale_of_singular_values():
    problem = original(Stream(0, 3), 4)
    assert scores.single_scores(problem, Full(jnp.eye(3)), row=3, unit=1.0).others.shape == (3,)
    assert scores.EDGES[[0, -1]].tolist() == [-8, 8] and len(scores.EDGES) == 321
