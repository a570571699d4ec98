"""One law, N D(M) = delta: against Cover's theorem, linear programs, logistic regression, and the law of N = M."""

from math import comb

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog, minimize_scalar, root
from scipy.special import log_ndtr
from scipy.stats import binom, norm

from loadstone.theory.answers import facts_capacity, memories_seen
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.codimension import codimension
from loadstone.theory.cone import merge_law
from loadstone.theory.entropy import facts_free_entropy, finite_free_entropy
from loadstone.theory.families import StatisticalDimension, statistical_dimension
from loadstone.theory.minimiser import ABOVE, STORABLE, minimiser
from loadstone.theory.storable import (
    facts_interval,
    probability_facts_storable,
    probability_storable,
    storable_interval,
)


def test_as_many_answers_as_facts_is_the_law_of_d_and_p():
    for d in (1, 2, 3, 7, 20, 100, 4096):
        assert facts_capacity("full", d) == capacity_associations(d)
        full = statistical_dimension("full", d)
        for p in {2, 3, 40, 85, round(capacity_associations(d)) + 1}:
            assert probability_facts_storable(p, p, memories=full) == probability_storable(p, d)
    # 2 alpha_c d^2 is multiplied out in another order.
    assert facts_capacity("rank:25", 100) == pytest.approx(capacity_associations(100, 0.25), rel=1e-12)
    # Written down before there were answers and families.
    assert probability_storable(1000, 91) == pytest.approx(0.9416150089604218, rel=1e-12)
    assert [storable_interval(d) for d in (20, 77, 1000)] == [(80, 93), (749, 786), (66821, 67112)]


@pytest.mark.parametrize("facts, d", [(10, 4), (30, 15), (31, 15), (40, 15), (5, 5), (3, 7), (200, 90)])
def test_two_answers_are_cover_s_theorem(facts, d):
    exact = 2.0 ** (1 - facts) * sum(comb(facts - 1, k) for k in range(d))
    assert probability_facts_storable(facts, 2, memories=memories_seen("full", d, answers=2)) == pytest.approx(
        exact, abs=1e-12
    )
    # Decoupled, an input has two outputs of its own: a perceptron with d^2 weights.
    exact = 2.0 ** (1 - facts) * sum(comb(facts - 1, k) for k in range(d * d))
    assert probability_facts_storable(
        facts, 2, memories=memories_seen("full", d, answers=2, decoupled=True)
    ) == pytest.approx(exact, abs=1e-12)
    assert facts_capacity("full", d, answers=2) == pytest.approx(2 * d) and codimension(2) == pytest.approx(0.5)


@pytest.mark.parametrize("facts, d", [(4, 2), (3, 3), (12, 4)])
def test_two_answers_and_non_negative_weights_by_counting_cells(facts, d):
    """The n coordinate planes and N random ones cut R^n into 2 sum_{k<n} C(N+n-1, k) cells, shared equally by the 2^n
    orthants and by the 2^N sets of signs."""
    n = d * d
    exact = 2.0 ** (1 - facts - n) * sum(comb(facts + n - 1, k) for k in range(n))
    found = probability_facts_storable(facts, 2, memories=statistical_dimension("nonnegative", d))
    assert found == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("family", ["symmetric", "nonnegative"])
def test_against_repeated_convolution(family):
    d, facts, answers = 8, 25, 6
    room = statistical_dimension(family, d)
    law = np.ones(1)
    for _ in range(facts):
        law = np.convolve(law, merge_law(answers).probabilities)
    coins = room.faces.coins
    j = np.arange(coins + 1) + room.faces.fixed
    excess = (j[:, None] - np.arange(len(law))[None, :]).ravel()
    weight = np.outer(binom.pmf(np.arange(coins + 1), coins, 0.5), law).ravel()
    expected = 2 * weight[(excess > 0) & (excess % 2 == 1)].sum()
    assert 0.1 < expected < 0.99
    assert probability_facts_storable(facts, answers, memories=room) == pytest.approx(expected, abs=1e-12)


def test_random_cones_meet_as_often_as_predicted():
    """Random scores that depend on nine non-negative weights, M = 4, a linear program as the judge."""
    random, facts, answers, weights, draws, met = np.random.default_rng(0), 4, 4, 9, 300, 0
    room = statistical_dimension("nonnegative", 3)
    for _ in range(draws):
        scores = random.standard_normal((facts, answers, weights))
        margins = (scores[:, :1] - scores[:, 1:]).reshape(-1, weights)
        rows = np.hstack([-margins, np.ones((len(margins), 1))])
        best = linprog([0] * weights + [-1], rows, np.zeros(len(rows)), bounds=[(0, 1)] * weights + [(None, 1)])
        met += best.x[-1] > 1e-9
    expected = probability_facts_storable(facts, answers, memories=room)
    assert 0.2 < expected < 0.8
    assert abs(met / draws - expected) < 4 * np.sqrt(expected * (1 - expected) / draws)


def test_capacity_is_where_the_law_says_and_storing_is_as_likely_as_not():
    cases = [("full", 200, False), ("full", 5, False), ("symmetric", 50, True), ("masked:0.3", 41, False)]
    for family, answers, decoupled in [*cases, ("nonnegative", 60, True), ("psd", 70, False)]:
        d = 30
        room = memories_seen(family, d, answers=answers, decoupled=decoupled)
        facts = facts_capacity(family, d, answers=answers, decoupled=decoupled)
        assert facts * codimension(answers) == pytest.approx(room.delta)
        assert probability_facts_storable(int(facts), answers, memories=room) > 0.47
        assert probability_facts_storable(int(facts) + 1, answers, memories=room) < 0.53


def test_so_few_facts_that_their_outputs_hide_directions():
    # rank 1: N D(N) = delta with N - 1 < d directions, and both sides know it.
    facts = facts_capacity("rank:1", 100)
    assert facts < 100
    low, high = int(facts), int(facts) + 1
    room = lambda n: memories_seen("rank:1", 100, answers=n).delta  # noqa: E731
    assert low * codimension(low) <= room(low) and high * codimension(high) > room(high)
    assert facts < facts_capacity("rank:1", 100, decoupled=True)


def test_the_gaussian_form_where_only_the_variance_is_known():
    coins = statistical_dimension("nonnegative", 60)
    alike = StatisticalDimension("nonnegative", 60, 60, coins.delta, variance=coins.variance)
    for facts in (780, 800, 820):
        exact = probability_facts_storable(facts, 20, memories=coins)
        assert probability_facts_storable(facts, 20, memories=alike) == pytest.approx(exact, abs=0.01)
    unknown = memories_seen("nonnegative", 60, answers=30)
    assert probability_facts_storable(100, 30, memories=unknown) is None
    assert probability_facts_storable(100, 100, memories=statistical_dimension("rank:3", 20)) is None


def test_beyond_the_longest_transform_the_gaussian_form_takes_over():
    p = 10**10
    d = round(np.sqrt(p * codimension(p)))
    found = probability_facts_storable(p, p, memories=statistical_dimension("full", d))
    law = merge_law(p)
    assert found == pytest.approx(norm.cdf((d * d - p * law.mean) / np.sqrt(p * law.variance)), rel=1e-12)
    assert 0.1 < found < 0.9


def test_the_interval_of_a_stream_s_capacity():
    # A single fact with 40 answers is storable in 5 dimensions with probability 0.79 only.
    assert facts_interval(40, statistical_dimension("full", 5), share=0.9)[0] == 0
    for d in (12, 20):
        full = statistical_dimension("full", d)
        low, high = facts_interval(40, full, share=0.9)
        assert (
            probability_facts_storable(low, 40, memories=full)
            > 0.95
            >= probability_facts_storable(low + 1, 40, memories=full)
        )
        assert (
            probability_facts_storable(high, 40, memories=full)
            > 0.05
            >= probability_facts_storable(high + 1, 40, memories=full)
        )
    with pytest.raises(ValueError, match="family is 'psd', but must be one whose law of J is known for 40 answers"):
        facts_interval(40, statistical_dimension("psd", 5))


def test_two_answers_above_capacity_are_logistic_regression_with_random_labels():
    """Its equations for one weight vector (Sur and Candes): t = prox of lambda log(1 + e^-t) at h ~ N(0, sigma^2),
    N E(t - h)^2 = d sigma^2, N E(1 - dt/dh) = d, by quadrature."""
    facts, d = 1000, 150
    x, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()

    def shifted(sigma, reach):
        h = sigma * x
        t = h.copy()
        for _ in range(60):
            pull = 1 / (1 + np.exp(t))
            t = t - (t - h - reach * pull) / (1 + reach * pull * (1 - pull))
        return h, t, 1 / (1 + np.exp(t))

    def equations(point):
        sigma, reach = np.exp(point)
        h, t, pull = shifted(sigma, reach)
        response = 1 / (1 + reach * pull * (1 - pull))
        return facts / d * weight @ (t - h) ** 2 / sigma**2 - 1, facts / d * weight @ (1 - response) - 1

    solved = root(equations, [0.0, 0.0])
    assert solved.success
    sigma, reach = np.exp(solved.x)
    h, t, _ = shifted(sigma, reach)
    loss = weight @ np.logaddexp(0, -t)
    # t > 0 exactly if h + reach / 2 > 0, because the prox moves h = -reach / 2 to 0.
    accuracy = quad(lambda z: np.exp(-z * z / 2) / np.sqrt(2 * np.pi), -reach / (2 * sigma), 40)[0]
    found = minimiser(facts, d, answers=2, delta=d)
    assert found.status == ABOVE and found.answers == 2 and found.delta == d
    assert abs(found.loss - loss) < 4 * found.loss_error + 1e-6 and found.loss_error < 0.01 * loss
    assert abs(found.accuracy - accuracy) < 4 * found.accuracy_error + 1e-6
    assert found.norm * np.sqrt(2) == pytest.approx(sigma, rel=0.02)


def test_the_minimiser_of_a_subspace_starts_at_its_capacity():
    d, answers = 20, 30
    delta = memories_seen("symmetric", d, answers=answers).delta
    facts = facts_capacity("symmetric", d, answers=answers)
    assert minimiser(int(facts), d, answers=answers, delta=delta).status == STORABLE
    above = minimiser(int(1.5 * facts), d, samples=1024, answers=answers, delta=delta)
    assert above.status == ABOVE and 0 < above.accuracy < 1
    assert above.load == pytest.approx(int(1.5 * facts) * np.log(answers) / d**2)
    for name, value in (("answers", 1), ("delta", 0.0)):
        with pytest.raises(ValueError, match=f"{name} is .* but must be"):
            minimiser(50, 5, **{name: value})


def test_free_entropy_of_two_answers_is_the_perceptron_s():
    facts, n = 60, 100
    xi = np.arange(-12, 12, 0.01)
    measure = 0.01 * np.exp(-(xi**2) / 2) / np.sqrt(2 * np.pi)

    def gardner(y):
        q = -np.expm1(-y)
        return 0.5 * np.log1p(-q) + q / (2 * (1 - q)) + facts / n * measure @ log_ndtr(np.sqrt(q / (1 - q)) * xi)

    best = minimize_scalar(gardner, bounds=(0, 10), method="bounded", options={"xatol": 1e-6})
    found = facts_free_entropy(facts, 2, n)
    assert found.phi == pytest.approx(best.fun, abs=1e-6) and found.q == pytest.approx(-np.expm1(-best.x), abs=1e-3)
    assert facts_free_entropy(2 * n, 2, n).phi == -np.inf


def test_free_entropy_of_as_many_answers_as_facts():
    p, d = 20, 12
    assert facts_free_entropy(p, p, d**2, 8) == finite_free_entropy(p * np.log(p) / d**2, p, 8)


@pytest.mark.parametrize("call, sentence", [
    (lambda: facts_capacity("full", 5, answers=1), "answers is 1, but must be a whole number of at least 2"),
    (lambda: facts_capacity("full", 0), "d is 0, but must be"),
    (lambda: facts_capacity("full", 5, answers=9, margin=-0.1), "margin is -0.1, but must be"),
    (lambda: probability_facts_storable(0, 5, memories=statistical_dimension("full", 4)), "facts is 0"),
])  # fmt: skip
def test_bad_input_gets_one_sentence(call, sentence):
    with pytest.raises(ValueError) as refusal:
        call()
    assert sentence in str(refusal.value)
