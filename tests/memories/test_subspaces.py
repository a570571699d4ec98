"""Linear families: projections, dimensions, membership, and what is refused."""

import numpy as np
import pytest

from loadstone.memories.masks import RandomMask, drawn_mask
from loadstone.memories.subspaces.given import Given
from loadstone.memories.subspaces.masked import Blocks, Diagonal, Masked
from loadstone.memories.subspaces.patterned import Circulant, Skew, Symmetric, Traceless
from loadstone.memories.subspaces.registry import arrays_of, name_of, subspace_from
from loadstone.memories.subspaces.subspace import Subspace

D = 6
NUMBERS = np.random.default_rng(0)
MASK = np.eye(D, dtype=bool) | (NUMBERS.random((D, D)) < 0.4)
BASIS = NUMBERS.standard_normal((7, D, D))
INDEX = np.arange(D)
#: Every family with its dimension, and the equations that its members satisfy, as functions that are zero on them.
FAMILIES = {
    "symmetric": (Symmetric(), 21, lambda w: w - w.T),
    "traceless": (Traceless(), 20, lambda w: np.append(w - w.T, np.trace(w))),
    "skew": (Skew(), 15, lambda w: w + w.T),
    "masked": (Masked(MASK), int(MASK.sum()), lambda w: w[~MASK]),
    "blocks": (Blocks(3), 12, lambda w: w[INDEX[:, None] // 2 != INDEX // 2]),
    "diagonal": (Diagonal(), 6, lambda w: w[INDEX[:, None] != INDEX]),
    "circulant": (Circulant(), 6, lambda w: w - np.roll(np.roll(w, 1, 0), 1, 1)),
    "given": (Given(BASIS), 7, lambda w: w.ravel() - _least_squares(w.ravel())),
}


def _least_squares(vector):
    rows = BASIS.reshape(7, -1)
    return np.linalg.lstsq(rows.T, vector, rcond=None)[0] @ rows


@pytest.mark.parametrize("name", FAMILIES)
def test_the_projection_is_the_nearest_member(name):
    subspace, dimension, equations = FAMILIES[name]
    assert subspace.dimension(D) == dimension
    matrix = NUMBERS.standard_normal((D, D))
    nearest = subspace.projected(matrix)
    np.testing.assert_allclose(equations(nearest), 0, atol=1e-13)
    # What is left is orthogonal to every member: the rank of the projection, and members that stay as they are.
    axes = subspace.axes(D).reshape(-1, D * D)
    np.testing.assert_allclose(axes @ axes.T, np.eye(dimension), atol=1e-13)
    for axis in axes.reshape(-1, D, D):
        np.testing.assert_allclose(equations(axis), 0, atol=1e-13)
    np.testing.assert_allclose(axes @ (matrix - nearest).ravel(), 0, atol=1e-13)
    # The same axes, found from the projection alone.
    found = Subspace.axes(subspace, D).reshape(-1, D * D)
    np.testing.assert_allclose(found.T @ found, axes.T @ axes, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in ("traceless", "given")])
def test_members_are_told_from_others_exactly(name):
    subspace, _, _ = FAMILIES[name]
    member = subspace.projected(NUMBERS.standard_normal((D, D))) / 3
    assert subspace.contains(member)
    other = member.copy()
    other[1, 4] = np.nextafter(other[1, 4], 1) if other[1, 4] else 5e-324
    assert subspace.contains(other) == bool(name == "masked" and MASK[1, 4])


def test_a_random_mask_is_that_of_its_seed():
    mask = np.asarray(drawn_mask(12, 3, 0.25).mask)
    assert mask.sum() == 36 and mask.any(axis=0).all() and mask.any(axis=1).all()
    assert (mask == drawn_mask(12, 3, 0.25).mask).all()
    assert (mask != drawn_mask(12, 4, 0.25).mask).any()
    # For good, on every device.
    assert np.flatnonzero(mask)[:8].tolist() == [4, 5, 6, 16, 17, 21, 22, 27]
    # Almost as few entries as there can be: only the rule keeps rows and columns from being empty.
    for seed in range(5):
        few = np.asarray(drawn_mask(12, seed, 0.17).mask)
        assert few.sum() == 24 and few.any(axis=0).all() and few.any(axis=1).all()
    # Entries are equally likely: 0.25 within four deviations of a mean over 400 masks and 144 entries.
    share = np.mean([np.asarray(drawn_mask(4, seed, 0.5).mask) for seed in range(400)], axis=0)
    np.testing.assert_allclose(share, 0.5, atol=4 * np.sqrt(0.25 / 400))


def test_the_operations_of_each_projection():
    """Proofs allow for their rounding errors: more than these would only weaken what they prove."""
    counts = {"symmetric": 1, "traceless": 10, "skew": 1, "masked": 0, "blocks": 0, "diagonal": 0, "circulant": 7}
    assert {name: FAMILIES[name][0].operations(D) for name in counts} == counts
    with pytest.raises(NotImplementedError, match="the projection is itself rounded"):
        Given(BASIS).operations(D)


def test_the_smallest_and_largest_that_are_allowed():
    for subspace, d in ((Skew(), 2), (Traceless(), 2), (Blocks(1), 6), (Blocks(6), 6)):
        subspace.check(d)
    RandomMask.check(1, 1.0)
    RandomMask.check(D, 11 / 36)
    assert Masked([[1]]).dimension(1) == 1
    assert Given(np.eye(4).reshape(4, 2, 2)).dimension(2) == 4
    # By how much two matrices of unit length may resemble each other.
    like, other = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 0.0]])
    for apart in (1e-5, 3e-6):
        assert Given([like, like + apart * other]).dimension(2) == 2
    with pytest.raises(ValueError, match="2 matrices that are dependent, or nearly so"):
        Given([like, like + 1e-6 * other])


def test_two_bases_are_equal_if_their_numbers_are():
    """Compiled programs are kept for a basis, and found again by its hash."""
    one, same, other = Given(BASIS), Given(BASIS.copy()), Given(2 * BASIS)
    assert one == same and hash(one) == hash(same) and one != other and one != BASIS
    assert len({one, same, other}) == 2
    assert not one.contains(np.zeros((D, D)))  # no digits to tell: a proof bounds the distance instead
    np.testing.assert_array_equal(one.axes(D), one.orthonormal)
    assert (np.abs(one.scaled_basis).max(axis=(1, 2)) < 1).all() and (np.abs(one.scaled_basis) >= 0.5).any(
        axis=(1, 2)
    ).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_into_a_file_and_back(name):
    subspace, _, _ = FAMILIES[name]
    again = subspace_from(name_of(subspace), arrays_of(subspace), D)
    matrix = NUMBERS.standard_normal((D, D))
    assert type(again) is type(subspace)
    np.testing.assert_array_equal(again.projected(matrix), subspace.projected(matrix))


def empty_row():
    mask = np.ones((D, D), bool)
    mask[2] = False
    return mask


@pytest.mark.parametrize("make, sentence", [
    (lambda: Masked(empty_row()), r"mask is 'empty in row 2', but must be a mask with an entry in each row"),
    (lambda: Masked(empty_row().T), r"mask is 'empty in column 2', but must be a mask with an entry in each row"),
    (lambda: Masked(np.ones((2, 3))), r"mask is 'float64 of shape \(2, 3\)', but must be a square array"),
    (lambda: Masked(np.full((2, 2), 0.5)), r"mask is 'an array with other numbers', but must be"),
    (lambda: Masked(np.ones(3)), r"mask is 'float64 of shape \(3,\)', but must be a square array"),
    (lambda: Masked(np.ones((0, 0))), r"mask is 'float64 of shape \(0, 0\)', but must be a square array"),
    (lambda: Masked(np.ones((2, 2), complex)), r"mask is 'complex128 of shape \(2, 2\)', but must be a square array"),
    (lambda: Masked([[1], [1, 0]]), "mask is 'a list', but must be a square array"),
    (lambda: Masked(MASK).check(5), r"mask.shape is \(6, 6\), but must be \(5, 5\)"),
    (lambda: Blocks(4).check(D), "count is 4, but must be a divisor of d = 6"),
    (lambda: Blocks(0), "count is 0, but must be a whole number of at least 1"),
    (lambda: Traceless().check(1), "d is 1, but must be at least 2 for the family 'traceless'"),
    (lambda: Skew().check(1), "d is 1, but must be at least 2 for the family 'skew'"),
    (lambda: RandomMask.check(D, 0.0), r"density is 0.0, but must be a number in \(0, 1\]"),
    (lambda: RandomMask.check(D, 0.2), "density is 0.2, but must be at least 0.3056 at d = 6"),
    (lambda: drawn_mask(D, 0, 10 / 36), "density is 0.277.*, but must be at least 0.3056 at d = 6"),
    (lambda: Given(np.ones((1, 2, 3))), r"basis is 'float64 of shape \(1, 2, 3\)', but must be"),
    (lambda: Given(np.ones((0, 2, 2))), r"basis is 'float64 of shape \(0, 2, 2\)', but must be"),
    (lambda: Given(np.ones((1, 2, 2), complex)), r"basis is 'complex128 of shape \(1, 2, 2\)', but must be"),
    (lambda: Given([[[1]], [1]]), "basis is 'a list', but must be an array"),
    (lambda: Given(np.full((1, 1, 1), np.longdouble(1) / 3)), "infinite or too long"),
    (lambda: Given([[[2**53 + 1]]]), "infinite or too long"),
    (lambda: Given([np.eye(2), np.zeros((2, 2))]), "basis is 'zero at index 1', but must be"),
    (lambda: Given(np.eye(4).reshape(4, 2, 2)[[0, 1, 2, 3, 0]]), "basis is '5 matrices that are dependent"),
    (lambda: Given(np.stack([BASIS[0], BASIS[1], BASIS[0] + BASIS[1]])), "basis is '3 matrices that are dependent"),
    (lambda: Given(np.tile(BASIS, (6, 1, 1))), "basis is '42 matrices that are dependent"),
    (lambda: Given(BASIS[0]), r"basis is 'float64 of shape \(6, 6\)', but must be an array \(k, d, d\)"),
    (lambda: Given(np.zeros((2, 3, 3))), "basis is 'zero at index 0', but must be"),
    (lambda: Given(np.full((1, 2, 2), np.nan)), "basis is 'an array with numbers that are infinite"),
    (lambda: Given([[[1e300, 1e-300], [0, 0]]]), "basis is 'a matrix whose entries differ by more than 10"),
    (lambda: Given(BASIS).check(5), r"basis.shape is \(7, 6, 6\), but must be \(k, 5, 5\)"),
    (lambda: subspace_from("blocks:count=4", {}, D), "count is 4"),
    (lambda: subspace_from("masked", {}, D), "family is 'masked', but must be given with mask"),
    (lambda: subspace_from("symmetric", {"mask": MASK}, D), "family parameter is 'mask', but must be left out"),
    (lambda: name_of(Entire()), "family is 'Entire', but must be one of symmetric"),
])  # fmt: skip
def test_what_is_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


class Entire(Subspace):
    def projected(self, matrix, xp=np):
        return matrix

    def dimension(self, d):
        return d * d

    def operations(self, d):
        return 0
