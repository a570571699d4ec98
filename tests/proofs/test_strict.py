"""'Not storable' is only said where exact arithmetic agrees, and is said of every instance with room for a proof."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from loadstone.memories.families import subspace_of
from loadstone.memories.subspaces.given import Given
from loadstone.memories.subspaces.patterned import Symmetric
from loadstone.problems.arrays import Arrays
from loadstone.problems.instance import Instance
from loadstone.proofs import exact as in_whole_numbers
from loadstone.proofs import strict
from loadstone.proofs.curvature import matrix_bytes, matrix_of
from loadstone.proofs.dixon import solution
from loadstone.proofs.exact import corrected_exactly, sums_to_zero
from loadstone.proofs.pairs import in_fewest_coordinates, pairs_of
from loadstone.proofs.strict import TooLargeError, bounds_exclude_all, excludes_all
from loadstone.solvers.decide import decide
from loadstone.streams.stream import Stream
from tests.solvers.linear_program import largest_margin


def exact_rows(arrays, multipliers):
    """The a_i with positive multipliers, and these, as fractions."""
    rows, weights = [], []
    for mu, rho in np.argwhere(multipliers > 0):
        outputs = arrays.outputs[mu] if arrays.decoupled else arrays.outputs
        away = [Fraction(float(a)) - Fraction(float(b)) for a, b in zip(outputs[rho], outputs[arrays.targets[mu]])]
        rows.append([a * Fraction(float(e)) for a in away for e in arrays.inputs[mu]])
        weights.append(Fraction(float(multipliers[mu, rho])))
    return rows, weights


def exactly_corrected(rows, weights):
    """lambda (1 - a^T H^-1 R) in fractions, by plain Gaussian elimination; None where a pivot is missing."""
    size = len(rows[0])
    table = [
        [sum(w * a[i] * a[j] for a, w in zip(rows, weights)) for j in range(size)]
        + [sum(w * a[i] for a, w in zip(rows, weights))]
        for i in range(size)
    ]
    for k in range(size):
        if table[k][k] == 0:
            return None
        for i in range(size):
            if i != k and table[i][k]:
                factor = table[i][k] / table[k][k]
                table[i] = [x - factor * y for x, y in zip(table[i], table[k])]
    solution = [row[-1] / row[k] for k, row in enumerate(table)]
    return [w * (1 - sum(a * x for a, x in zip(row, solution))) for row, w in zip(rows, weights)]


@pytest.mark.parametrize("kind", ["original", "decoupled"])
@pytest.mark.parametrize("d, p", [(2, 8), (3, 12)])
def test_what_the_bounds_prove_holds_in_fractions(d, p, kind):
    proved = 0
    for seed in range(4):
        arrays = Instance(Stream(seed, d), p, kind=kind).arrays()
        certificate = decide(arrays).certificate
        if certificate is None:
            continue
        proved += bounds_exclude_all(pairs_of(arrays, certificate))
        rows, weights = exact_rows(arrays, certificate)
        corrected = exactly_corrected(rows, weights)
        assert min(corrected) >= 0 < max(corrected)
        assert all(sum(x * row[i] for x, row in zip(corrected, rows)) == 0 for i in range(d * d))
    assert proved >= 2


@settings(max_examples=60)
@given(st.integers(1, 3), st.integers(1, 4), st.integers(2, 5), st.booleans(), st.integers(0, 10**6))
def test_multipliers_never_exclude_what_is_storable(d, n, m, decoupled, seed):
    """Whole numbers, with ties and dependent vectors: the best multipliers there are, and some at random."""
    random = np.random.default_rng(seed)
    outputs = random.integers(-2, 3, (n, m, d) if decoupled else (m, d)).astype(float)
    arrays = Arrays(random.integers(-2, 3, (n, d)).astype(float), outputs, random.integers(0, m, n))
    everything = np.ones((n, m))
    everything[np.arange(n), arrays.targets] = 0
    rows = np.array(exact_rows(arrays, everything)[0], float)
    weights, _ = nnls(np.vstack([rows.T, np.ones(len(rows))]), np.append(np.zeros(d * d), 1.0))
    best = np.zeros((n, m))
    best[everything > 0] = weights
    tried = [best, np.where(best > 1e-9, best, 0), everything, random.random((n, m))]
    proved = any(excludes_all(arrays, each) for each in tried)
    storable = largest_margin(arrays) > 1e-7
    assert not (proved and storable)
    # The best multipliers, without those that are rounding, are a proof if there is one.
    assert proved or storable


@pytest.mark.parametrize("gap", [1e-5, 1e-10, 1e-15, 1e-30, 1e-200])
@pytest.mark.parametrize("wide", [False, True])
def test_no_multipliers_exclude_what_is_storable_by_however_little(gap, wide):
    """Two questions that differ by a gap, with different answers; alone, or among facts that need all of the rest."""
    inputs, outputs = np.array([[1.0, 0.0], [1.0, gap]]), np.eye(2)
    if wide:
        inputs = np.vstack([np.hstack([inputs, np.ones((2, 1))]), np.random.default_rng(0).standard_normal((4, 3))])
        outputs = np.random.default_rng(1).standard_normal((6, 3))
    arrays = Arrays(inputs, outputs, np.arange(len(inputs)))
    for random in map(np.random.default_rng, range(2)):
        for rest in (0.0, 1e-18, 1e-9, 1e-2):
            multipliers = rest * random.random((len(inputs), len(outputs)))
            multipliers[0, 1] = multipliers[1, 0] = 1.0
            assert not excludes_all(arrays, multipliers)


@pytest.mark.parametrize("away, proved", [(0.0, True), (2.0**-52, True), (-(2.0**-52), False), (-1e-300, False)])
def test_the_last_digit_decides_whether_an_answer_lies_between_others(away, proved):
    outputs = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [1.0, away]])
    arrays = Arrays(np.array([[1.0, 2.0]]), outputs, np.array([3]))
    # The target is (1 - away) / 2 of each end and `away` of the third.
    multipliers = np.array([[0.5 - away / 2, 0.5 - away / 2, max(away, 0.0), 0.0]])
    assert excludes_all(arrays, multipliers) == proved


@pytest.mark.parametrize("name", ["symmetric", "traceless", "skew", "masked:0.5", "blocks:2", "diagonal", "circulant"])
@pytest.mark.parametrize("d, p", [(4, 17), (12, 70)])
def test_every_family_is_proved(name, d, p):
    arrays, family = Instance(Stream(1, d), p).arrays(), subspace_of(name, d, seed=0)
    certificate = decide(arrays, family=family).certificate
    assert excludes_all(arrays, certificate, family)
    pairs = pairs_of(arrays, certificate)
    assert bounds_exclude_all(pairs, family)
    # Multipliers for the smaller space do not exclude all matrices.
    assert not excludes_all(arrays, np.where(certificate > 1e-2 * certificate.max(), certificate, 0.0))


def test_a_given_basis_is_proved_and_so_is_one_with_a_member_more():
    basis = np.random.default_rng(5).standard_normal((9, 6, 6))
    arrays = Instance(Stream(0, 6), 17).arrays()
    certificate = decide(arrays, family=Given(basis)).certificate
    assert excludes_all(arrays, certificate, Given(basis)) and not excludes_all(arrays, certificate)


def test_coordinates_are_left_out_where_nothing_differs():
    """Inputs in a plane, outputs on a line: without the rest the proof has two dimensions and not twelve."""
    random = np.random.default_rng(0)
    inputs = np.hstack([random.standard_normal((9, 2)), np.zeros((9, 1))])
    outputs = np.column_stack([random.standard_normal(9), np.ones(9), np.ones(9), np.zeros(9)])[:, [1, 0, 2, 3]]
    arrays = Arrays(np.hstack([inputs, np.zeros((9, 1))]), outputs, np.arange(9))
    pairs = in_fewest_coordinates(pairs_of(arrays, np.ones((9, 9))))
    assert pairs.inputs.shape == (9, 2) and pairs.outputs.shape == (9, 1)
    assert decide(arrays).verdict == "not storable"


def test_a_change_of_coordinates_keeps_the_smallest_number():
    outputs = np.array([[-0.75], [0.75], [2.0**-1074]])
    pairs = pairs_of(Arrays(np.array([[0.5]]), outputs, np.zeros(1, int)), np.ones((1, 3)))
    assert (in_fewest_coordinates(pairs).outputs == outputs).all()


@pytest.mark.parametrize("n, m, d", [(2, 9, 4), (9, 3, 6), (2, 3, 5)])
def test_few_vectors_in_many_dimensions_become_unit_vectors(n, m, d):
    random = np.random.default_rng(0)
    arrays = Arrays(random.standard_normal((n, d)), random.standard_normal((m, d)), np.arange(n) % m)
    pairs = in_fewest_coordinates(pairs_of(arrays, np.ones((n, m))))
    assert pairs.inputs.shape[1] == min(n, d) and pairs.outputs.shape[1] == min(m - 1, d)


def test_numbers_whose_sizes_differ_too_much_prove_nothing():
    arrays = Arrays(np.array([[1.0, 1e-300], [1.0, 1e-300]]), np.eye(2), np.array([0, 1]))
    assert pairs_of(arrays, np.ones((2, 2))) is not None
    tiny = Arrays(np.array([[1e300, 1e-310], [1e300, 1e-310]]), np.eye(2), np.array([0, 1]))
    assert pairs_of(tiny, np.ones((2, 2))) is None and not excludes_all(tiny, np.ones((2, 2)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e-300])
def test_only_finite_multipliers_that_are_not_negative_count(bad):
    arrays = Arrays(np.ones((2, 2)), np.eye(2), np.arange(2))
    multipliers = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert excludes_all(arrays, multipliers)
    assert not excludes_all(arrays, np.zeros((2, 2)))
    assert not excludes_all(arrays, np.eye(2))  # of targets
    multipliers[0, 1] = bad
    assert not excludes_all(arrays, multipliers)


def test_a_proof_that_does_not_fit_says_how_much_it_needs():
    """At the threshold in few dimensions the bound from each input is not enough."""
    arrays = Instance(Stream(0, 20), 90).arrays()
    certificate = decide(arrays).certificate
    with pytest.raises(TooLargeError, match=r"a proof that excludes smaller ones needs 2.\d+ MiB of memory"):
        excludes_all(arrays, certificate, most_bytes=1000)
    assert excludes_all(arrays, certificate, most_bytes=matrix_bytes(90, 20, 20))


@pytest.mark.parametrize("n, a, b", [(3, 2, 4), (5, 4, 2), (4, 1, 1), (7, 3, 3)])
def test_the_matrix_is_the_sum_of_products(n, a, b):
    random = np.random.default_rng(0)
    inputs, roots = random.standard_normal((n, a)), random.standard_normal((n, b, b))
    spreads = roots @ roots.transpose(0, 2, 1)
    expected = sum(np.kron(spread, np.outer(e, e)) for spread, e in zip(spreads, inputs))
    np.testing.assert_allclose(matrix_of(inputs, spreads), expected, rtol=1e-13, atol=1e-13)


def test_the_errors_that_are_bounded_are_as_large_as_the_true_ones():
    """The sums of the proof against fractions: every bound holds, and none is a thousand times too large."""
    arrays = Instance(Stream(3, 3), 9).arrays()
    multipliers = np.random.default_rng(0).random((9, 9)) * (1 - np.eye(9))
    pairs = in_fewest_coordinates(pairs_of(arrays, multipliers))
    sums = strict._summed(pairs)
    shown = Arrays(pairs.inputs, pairs.outputs, pairs.targets)
    rows, weights = exact_rows(shown, pairs.multipliers)
    residual = [sum(w * row[i] for row, w in zip(rows, weights)) for i in range(9)]
    off = [abs(Fraction(x) - y) for x, y in zip(sums.residual.ravel().tolist(), residual)]
    assert all(x <= Fraction(y) for x, y in zip(off, sums.error.ravel().tolist()))
    assert sums.error.max() < 1e-12
    longest = max(sum(x * x for x in row) for row in rows)
    assert longest <= Fraction(sums.longest) ** 2 <= longest * Fraction(11, 10)


def test_systems_are_solved_exactly_and_dependent_ones_too():
    random = np.random.default_rng(0)
    for rank, size in ((3, 3), (2, 4), (1, 3), (0, 2)):
        root = random.integers(-9, 10, (size, max(rank, 1))) * (rank > 0)
        matrix = (root @ root.T).astype(object)
        right = matrix @ random.integers(-5, 6, size).astype(object)
        numerators, divisor = solution(matrix.tolist(), right.tolist())
        assert divisor > 0 and (matrix @ np.array(numerators, object) == divisor * right).all()


def test_a_conflict_is_proved_in_whole_numbers_where_bounds_cannot():
    """One question three times as long as the other: three of the one and one of the other add up to zero."""
    arrays = Arrays(np.array([[1.0, 2.0], [3.0, 6.0]]), np.eye(2), np.arange(2))
    exact, near = np.array([[0.0, 3.0], [1.0, 0.0]]), np.array([[0.0, 3.0 + 1e-9], [1.0, 0.0]])
    assert sums_to_zero(pairs_of(arrays, exact)) and not sums_to_zero(pairs_of(arrays, near))
    assert corrected_exactly(pairs_of(arrays, near)) and excludes_all(arrays, near)
    assert not bounds_exclude_all(pairs_of(arrays, near))


def test_no_axes_of_a_large_family_are_made_for_a_proof_in_whole_numbers(monkeypatch):
    """Those of symmetric matrices at d = 150 take gigabytes, and such a file is small."""
    random, d = np.random.default_rng(0), 150
    arrays = Arrays(random.standard_normal((1, d)), random.standard_normal((2, d)), np.zeros(1, int))
    monkeypatch.setattr(Symmetric, "axes", lambda self, d: pytest.fail("axes were made"))
    assert not excludes_all(arrays, np.ones((1, 2)), Symmetric())


@pytest.mark.parametrize("n, m, least", [(40, 3, -500), (10_000, 3, 0)])
def test_no_system_is_solved_in_whole_numbers_that_would_take_minutes(n, m, least, monkeypatch):
    """Numbers of very different sizes, or very many pairs."""
    random = np.random.default_rng(0)
    inputs, outputs = random.standard_normal((n, 8)), random.standard_normal((n, m, 8))
    inputs[:, 1:] *= 2.0 ** random.integers(least, 1, (n, 7))
    outputs[..., 1:] *= 2.0 ** random.integers(least, 1, (n, m, 7))
    pairs = pairs_of(Arrays(inputs, outputs, np.zeros(n, int)), random.random((n, m)))
    monkeypatch.setattr(in_whole_numbers, "_solution", lambda *system: pytest.fail("a system was solved"))
    assert not corrected_exactly(pairs)
