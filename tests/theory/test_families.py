"""Witnesses: ranks of random images, projections by other programs, Gaussian matrices, cones known in closed form."""

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.stats import binom

from loadstone.theory.capacity import capacity
from loadstone.theory.families import FAMILIES, FaceLaw, directions_shown, smallest_dimension, statistical_dimension

D = 7


def basis(family, d=D, seed=0):
    """Matrices that span a linear family."""
    unit = np.eye(d * d).reshape(d * d, d, d)
    random = np.random.default_rng(seed)
    if family == "full":
        return unit
    if family == "symmetric":
        return unit + unit.transpose(0, 2, 1)
    if family == "traceless":
        whole = unit + unit.transpose(0, 2, 1)
        return whole - np.trace(whole, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
    if family == "skew":
        return unit - unit.transpose(0, 2, 1)
    if family == "circulant":
        return np.array([np.roll(np.eye(d), shift, axis=1) for shift in range(d)])
    if family == "diagonal":
        return unit[:: d + 1]
    if family.startswith("blocks"):
        of = np.concatenate([np.full(len(part), i) for i, part in enumerate(np.array_split(range(d), int(family[7:])))])
        return unit[(of[:, None] == of[None, :]).ravel()]
    assert family.startswith("masked")
    return unit[random.permutation(d * d)[: round(float(family[7:]) * d * d)]]


def seen(matrices, r, seed=1):
    """Dimensions of {B W} for a random B with r rows."""
    image = np.random.default_rng(seed).standard_normal((r, matrices.shape[1])) @ matrices
    return np.linalg.matrix_rank(image.reshape(len(matrices), -1), tol=1e-8)


LINEAR = ["full", "symmetric", "traceless", "skew", "circulant", "diagonal", "blocks:2", "blocks:3", "blocks:7"]


@pytest.mark.parametrize("family", LINEAR)
def test_a_linear_family_has_the_dimension_of_its_image(family):
    for r in range(1, D + 1):
        found = statistical_dimension(family, D, directions=r)
        assert found.delta == seen(basis(family), r)
        assert found.faces == FaceLaw(found.delta) and found.variance == 0 and not found.bound


def test_a_mask_has_as_many_dimensions_as_entries_and_shows_on_average_what_is_predicted():
    assert statistical_dimension("masked:0.4", D).delta == round(0.4 * D * D) == seen(basis("masked:0.4"), D)
    for r in (2, 3, 4):
        ranks = np.array([seen(basis("masked:0.4", seed=seed), r, seed) for seed in range(150)])
        found = statistical_dimension("masked:0.4", D, directions=r)
        assert abs(ranks.mean() - found.delta) < 4 * ranks.std() / np.sqrt(len(ranks))
        # Var of a variance: about sqrt(2/150) of it. The columns are many enough for the formula at this d.
        assert found.variance == pytest.approx(ranks.var(), rel=0.5)


def test_a_mask_whose_columns_are_all_shorter_or_longer_than_the_directions_is_a_plain_subspace():
    assert statistical_dimension("masked:0.5", 400, directions=399).faces == FaceLaw(80_000)
    assert statistical_dimension("masked:0.5", 400, directions=3).faces == FaceLaw(1200)
    assert statistical_dimension("masked:0.5", 400, directions=200).faces is None
    assert statistical_dimension("masked:1", 10, directions=4).delta == 40
    assert statistical_dimension("masked:1", 10, directions=4).faces == FaceLaw(40)  # one mask is as good as any other


def test_the_law_of_columns_of_a_large_mask_is_as_good_as_exact():
    # From d = 10^4 on binomial: its neighbour below has the hypergeometric law.
    exact, large = (statistical_dimension("masked:0.01", d, directions=100) for d in (10_000, 10_001))
    assert large.delta / 10_001 == pytest.approx(exact.delta / 10_000, rel=2e-4)


@pytest.mark.parametrize("d, m, r", [(40, 10, 40), (40, 10, 20), (30, 3, 12), (30, 29, 30)])
def test_low_rank_is_bounded_by_the_largest_singular_values(d, m, r):
    values = np.linalg.svd(np.random.default_rng(0).standard_normal((40, r, d)), compute_uv=False)
    squares = (values[:, :m] ** 2).sum(axis=1)
    found = statistical_dimension(f"rank:{m}", d, directions=r)
    assert found.bound and found.faces is None and found.variance is None
    # The limit is off by about one dimension of the d r at this size; the samples by their own error.
    assert abs(squares.mean() - found.delta) < 4 * squares.std() / np.sqrt(40) + 0.004 * d * r


def test_low_rank_is_the_paper_s_capacity_and_enough_rank_is_full():
    assert statistical_dimension("rank:25", 100).delta == pytest.approx(2 * capacity(0.25) * 1e4, rel=1e-14)
    # Continuous where the outputs begin to hide directions.
    below, above = (statistical_dimension("rank:25", 100, directions=r).delta / r for r in (99, 100))
    assert below == pytest.approx(above, rel=0.01)
    for enough in (statistical_dimension("rank:8", 10, directions=8), statistical_dimension("rank:10", 10)):
        assert not enough.bound and enough.faces == FaceLaw(10 * enough.directions)


def test_non_negative_memories_seen_through_few_directions():
    """The projection of a normal vector onto the cone of d random vectors in r dimensions, by non-negative least
    squares: it lands inside (r dimensions) or on a face with as many generators as have positive coefficients."""
    random = np.random.default_rng(0)
    for d, r in ((5, 2), (8, 4), (8, 7), (6, 1)):
        faces = []
        for _ in range(400):
            weights, distance = nnls(random.standard_normal((r, d)), random.standard_normal(r))
            faces.append(r if distance < 1e-9 else (weights > 0).sum())
        found = statistical_dimension("nonnegative", d, directions=r)
        assert abs(np.mean(faces) - found.delta / d) < 4 * np.std(faces) / np.sqrt(400) + 1e-12
        k = np.arange(d + 1)
        assert found.delta / d == pytest.approx(binom.pmf(k, d, 0.5) @ np.minimum(k, r), rel=1e-12)
        assert found.faces is None and found.variance is None


def test_an_orthant_is_half_of_its_space():
    found = statistical_dimension("nonnegative", 9)
    assert (found.delta, found.faces, found.variance) == (40.5, FaceLaw(0, 81), 81 / 4)


def test_positive_semidefinite_memories():
    # Two dimensions: a circular cone of 45 degrees in three dimensions, all of whose intrinsic volumes are known.
    volumes = np.array([(1 - np.sqrt(0.5)) / 2, np.sqrt(0.5) / 2, np.sqrt(0.5) / 2, (1 - np.sqrt(0.5)) / 2])
    mean = volumes @ np.arange(4)
    two = statistical_dimension("psd", 2)
    assert two.delta == pytest.approx(mean) and two.faces is None
    assert two.variance == pytest.approx(volumes @ (np.arange(4) - mean) ** 2, rel=0.04)
    assert statistical_dimension("psd", 1).variance == pytest.approx(1 / 4)
    # Twelve: Gaussian symmetric matrices. The projection keeps the positive eigenvalues, and Var J is the variance of
    # its squared length less twice the mean. The sum over both signs is chi-square: only their difference is sampled.
    d, draws = 12, 3000
    matrices = np.random.default_rng(0).standard_normal((draws, d, d))
    values = np.linalg.eigvalsh((matrices + matrices.transpose(0, 2, 1)) / 2)
    length, difference = (np.maximum(values, 0) ** 2).sum(axis=1), (values * np.abs(values)).sum(axis=1)
    found = statistical_dimension("psd", d)
    assert abs(length.mean() - found.delta) < 4 * length.std() / np.sqrt(draws)
    variance = (d * (d + 1) + difference.var()) / 4 - 2 * found.delta
    assert abs(variance - found.variance) < 4 * difference.var() / 4 * np.sqrt(2 / draws)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_pruned_memories_keep_the_largest_entries(share):
    d = 50
    squares = np.sort(np.random.default_rng(0).standard_normal((200, d * d)) ** 2, axis=1)
    kept = squares[:, -round(share * d * d) :].sum(axis=1)
    found = statistical_dimension(f"pruned:{share}", d)
    assert abs(kept.mean() - found.delta) < 4 * kept.std() / np.sqrt(200) + 1
    assert found.bound == (share < 1) and found.delta >= statistical_dimension(f"masked:{share}", d).delta


def test_more_directions_show_more_and_never_more_than_there_is():
    for family in [*LINEAR, "rank:3", "nonnegative", "masked:0.3"]:
        room = [
            statistical_dimension(family, 12 if family != "blocks:7" else 14, directions=r).delta for r in range(1, 13)
        ]
        assert np.all(np.diff(room) >= -1e-9) and room[0] <= 14


def test_which_directions_are_shown():
    assert [directions_shown(10, m) for m in (2, 10, 11, 1000)] == [1, 9, 10, 10]
    assert directions_shown(10, 2, decoupled=True) == 10


@pytest.mark.parametrize("family, sentence", [
    ("fulll", "family is 'fulll', but must be one of full, rank:8, symmetric"),
    (3, "family is 3, but must be one of"),
    ("full:2", "must be full with no parameters"),
    ("rank", "must be rank:K, K a whole number in 1..10"),
    ("rank:11", "must be rank:K, K a whole number in 1..10"),
    ("blocks:2.5", "must be blocks:K, K a whole number in 1..10"),
    ("masked:0", "must be masked:S, S a number in (0, 1]"),
    ("pruned:nan", "must be pruned:S, S a number in (0, 1]"),
])  # fmt: skip
def test_families_that_do_not_exist(family, sentence):
    with pytest.raises(ValueError) as refusal:
        statistical_dimension(family, 10)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize("family", ["psd", "pruned:0.5"])
def test_what_is_not_known_is_said(family):
    with pytest.raises(ValueError, match="not known for 5 answers at d = 10: give more than d answers"):
        statistical_dimension(family, 10, directions=4)
    with pytest.raises(ValueError, match="directions is 11, but must be a whole number"):
        statistical_dimension(family, 10, directions=11)


def test_the_smallest_dimension_of_a_family():
    for family, least in {"rank:25": 25, "blocks:count=3": 3, "masked:0.5": 1, "full": 1, "given:basis.npy": 1}.items():
        assert smallest_dimension(family) == least
    with pytest.raises(ValueError, match="must be blocks:K"):
        smallest_dimension("blocks")


def test_every_family_at_the_largest_dimension():
    for name, (_, parameter) in FAMILIES.items():
        text = name if parameter is None else name + {"number": ":8", "share": ":0.5"}[parameter[1]]
        found = statistical_dimension(text, 10**8)
        assert 0 < found.delta <= 1e16
    assert statistical_dimension("nonnegative", 10**8, directions=5 * 10**7).delta == pytest.approx(5e15, rel=1e-3)
    assert statistical_dimension("masked:0.5", 10**8, directions=5 * 10**7).delta == pytest.approx(5e15, rel=1e-3)
