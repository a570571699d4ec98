"""Measurements against their definitions, written out on small arrays."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from loadstone.measurements import noise, scores
from loadstone.measurements.accuracy import TopScores
from loadstone.measurements.ranks import target_ranks
from loadstone.memories.full import Full
from loadstone.memories.rounding import rounded_to_bits
from loadstone.problems.arrays import Arrays
from loadstone.problems.facts import facts
from loadstone.problems.original import original
from loadstone.solvers.margin import maximum_margin
from loadstone.space.sample import sample
from loadstone.streams.stream import Stream
from loadstone.tasks.multi_start import MultiStart
from loadstone.tasks.short_lists import recalled_in_list
from loadstone.tasks.space import Space, space_of

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


@pytest.mark.parametrize("most, rows", [(None, range(7)), (14, [0, 2, 4]), (3, [0]), (10**6, range(7))])
def test_non_target_scores_of_evenly_spaced_associations(most, rows):
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


@pytest.mark.parametrize("n, m", [(7, 4), (3400, 3001)])
def test_scores_and_ranks_of_few_and_of_more_than_are_held_at_a_time(n, m):
    """Both go through them in blocks: scores of four million, ranks of ten."""
    targets = np.arange(n) % m
    problem = facts(RANDOM.standard_normal((n, 3)), RANDOM.standard_normal((m, 3)), targets=targets)
    memory = Full(jnp.asarray(WEIGHTS, jnp.float32))
    table = np.asarray(problem.inputs) @ np.asarray(memory.weights).T @ np.asarray(problem.outputs).T
    own = table[np.arange(n), targets]
    # Float32 sums differ in their last digits, which decide about scores that are almost equal.
    far = np.abs(table - own[:, None]) > 1e-4
    above = (far & (table > own[:, None])).sum(axis=1) + 1
    ranks = target_ranks(problem, memory)
    assert (above <= ranks).all() and (ranks <= above + (~far).sum(axis=1) - 1).all()
    found = scores.scores(problem, memory)
    others = np.delete(table.ravel(), m * np.arange(n) + targets)
    assert found.unit == pytest.approx(others.std(), rel=1e-4) and found.counts.sum() == n * (m - 1)
    for length in (0, m + 1):
        with pytest.raises(ValueError, match=f"length is {length}, but must be .* at least 1 and at most {m}"):
            recalled_in_list(problem, memory, length)


def test_a_record_of_sampled_memories_by_hand():
    arrays = original(Stream(0, 3), 4).arrays()
    sampled, record = (
        sample(arrays, 2, seed=7, with_volume=False),
        space_of(arrays, Space(2, volume=False, scores=True), 7),
    )
    assert (record["overlap"], record["overlap_error"]) == pytest.approx(sampled.overlap, rel=1e-6)
    assert (record["status"], record["dimension"], record["steps"]) == ("sampled", 9, sampled.steps)
    assert (record["r_hat"], record["effective_samples"], record["autocorrelation_time"]) == pytest.approx(
        (sampled.mixing.r_hat, sampled.mixing.effective_samples, sampled.mixing.autocorrelation_time), rel=1e-6
    )
    assert record["centre_length"] == pytest.approx(np.linalg.norm(sampled.centre.matrix()), rel=1e-6)
    memories = {
        "typical": sampled.typical[0],
        "centre": sampled.centre,
        "largest margin": maximum_margin(arrays, tolerance=1e-4).memory,
    }
    assert list(record["memories"]) == list(memories)
    tables = [arrays.inputs @ w.T @ arrays.outputs.T / np.linalg.norm(arrays.inputs @ w.T, axis=1)[:, None]
              for w in (np.asarray(one.matrix(), float) for one in sampled.typical)]  # fmt: skip

    def margins(weights):
        table = arrays.inputs @ weights.T @ arrays.outputs.T
        return np.array([min(np.delete(row[t] - row, t)) for row, t in zip(table, arrays.targets)])

    for name, memory in memories.items():
        seen, weights = record["memories"][name], np.asarray(memory.matrix(), float)
        weights /= np.linalg.norm(weights)
        values = np.linalg.svd(weights, compute_uv=False)
        assert seen["singular_values"] == pytest.approx(2 * values / values[0], rel=1e-3)
        assert seen["margin"] == pytest.approx(margins(weights).min(), rel=1e-3) and seen["bits"] == [8, 4, 2, 1]
        rounded = [np.mean(margins(rounded_to_bits(weights, bits)) > 0) for bits in (8, 4, 2, 1)]
        assert seen["recalled_rounded"] == rounded
        shares = [noise.measured_noisy_accuracy(arrays, Full(weights), noise=one, seed=7)[0] for one in seen["noises"]]
        assert seen["recalled"] == pytest.approx(shares, abs=0.01) and len(shares) > 4
    kept = record["typical_scores"]
    target = np.concatenate([table[np.arange(4), arrays.targets] for table in tables])
    others = np.stack([np.delete(row, t) for table in tables for row, t in zip(table, arrays.targets)])
    for name, one in (("target", target), ("rival", others.max(axis=1)), ("others", others.ravel())):
        assert kept[name] == np.histogram(one, np.linspace(-6, 6, 121))[0].tolist()
        assert kept["moments"][name] == pytest.approx({"mean": one.mean(), "deviation": one.std()}, rel=1e-6)
    assert kept["moments"]["margin"]["mean"] == pytest.approx(np.mean(target - others.max(axis=1)), rel=1e-6)
    # Of a family there is no more than overlap and volume.
    family = space_of(arrays, Space(2, volume=False), 7, "symmetric")
    assert family.keys() == {"status", "r_hat", "effective_samples", "autocorrelation_time", "steps", "passes",
                             "overlap", "overlap_error", "dimension"}  # fmt: skip


def test_how_many_searches_there_are_at_most():
    more = [{}, {"starts": 3}, {"grown": True}, {"truncated": True}, {"alternating": True}]
    assert [MultiStart(**one).searches for one in more] == [1, 3, 2, 3, 3]
