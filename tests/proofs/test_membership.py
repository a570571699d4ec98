"""Bounds about subspaces, against exact rational arithmetic."""

import inspect
from fractions import Fraction

import numpy as np
import pytest

from loadstone.memories.subspaces.given import Given
from loadstone.memories.subspaces.masked import Blocks
from loadstone.memories.subspaces.patterned import Circulant, Skew, Symmetric, Traceless
from loadstone.proofs.arithmetic import gamma
from loadstone.proofs.membership import distance_above, is_member, projected_norm_above

D = 4
NUMBERS = np.random.default_rng(1)
SUBSPACES = {
    "symmetric": Symmetric(), "traceless": Traceless(), "skew": Skew(), "blocks": Blocks(2), "circulant": Circulant(),
    "given": Given(NUMBERS.standard_normal((3, D, D))),
    "nearly dependent": Given(NUMBERS.standard_normal((1, D, D)) + 1e-4 * NUMBERS.standard_normal((3, D, D))),
    "of all sizes": Given(NUMBERS.standard_normal((3, D, D)) * np.array([1e-200, 1, 1e200])[:, None, None]),
}  # fmt: skip


def spanning(subspace):
    """Matrices of whole numbers, or those given, that span a subspace."""
    if isinstance(subspace, Given):
        return [[Fraction(x) for x in matrix.ravel().tolist()] for matrix in subspace.basis]
    if isinstance(subspace, Traceless):
        units = np.eye(D * D, dtype=int).reshape(-1, D, D)
        symmetric = [unit + unit.T for unit in units]
        found = [one if np.trace(one) == 0 else one - units[0] * np.trace(one) for one in symmetric]
    else:
        # The projection of a unit matrix has one value up to sign in these families.
        found = [np.sign(subspace.projected(unit)).astype(int) for unit in np.eye(D * D).reshape(-1, D, D)]
    return [[Fraction(int(x)) for x in one.ravel()] for one in found if one.any()]


def exact_squares(subspace, matrix):
    """The squared lengths of the projection of a matrix and of the rest, by Gram and Schmidt in rational numbers."""
    dot = lambda a, b: sum((x * y for x, y in zip(a, b)), Fraction(0))  # noqa: E731
    axes = []
    for vector in spanning(subspace):
        for axis in axes:
            share = dot(vector, axis) / dot(axis, axis)
            vector = [x - share * y for x, y in zip(vector, axis)]
        if any(vector):
            axes.append(vector)
    rest = [Fraction(x) for x in matrix.ravel().tolist()]
    inside = Fraction(0)
    for axis in axes:
        along = dot(rest, axis)
        inside += along * along / dot(axis, axis)
        rest = [x - along / dot(axis, axis) * y for x, y in zip(rest, axis)]
    return inside, dot(rest, rest)


@pytest.mark.parametrize("name", SUBSPACES)
def test_bounds_hold_and_are_close(name):
    subspace = SUBSPACES[name]
    general = NUMBERS.standard_normal((D, D))
    member = subspace.projected(general)
    orthogonal = general - member
    for matrix in (general, member, orthogonal, member + 1e-11 * general):
        inside, rest = exact_squares(subspace, matrix)
        norm, distance = Fraction(projected_norm_above(subspace, matrix)), Fraction(distance_above(subspace, matrix))
        assert norm**2 >= inside and distance**2 >= rest
        # Close where it matters: next to nothing is lost but rounding (and the condition of a bad basis).
        slack = {"nearly dependent": 1e-9}.get(name, 1e-13)
        assert distance <= (float(rest) ** 0.5) * (1 + 1e-12) + slack
        assert norm <= (float(inside) ** 0.5) * {"nearly dependent": 1e6}.get(name, 10) + slack
    assert is_member(subspace, member) and not is_member(subspace, general) and not is_member(subspace, orthogonal)


def test_exact_members_have_no_distance():
    for name in ("symmetric", "skew", "blocks", "circulant"):
        member = SUBSPACES[name].projected(NUMBERS.standard_normal((D, D)))
        assert distance_above(SUBSPACES[name], member) == 0
        member[0, 1] = np.nextafter(member[0, 1], 9)
        inside_a_block = name == "blocks"
        assert (distance_above(SUBSPACES[name], member) > 0) != inside_a_block


@pytest.mark.parametrize("name", ["symmetric", "traceless", "skew", "blocks", "circulant"])
def test_a_projection_is_off_by_no_more_than_its_operations_allow(name):
    """The same in rational numbers is exact. A family that says it rounds nothing must be exact too."""
    for seed in range(20):
        matrix = np.random.default_rng(seed).standard_normal((D, D))
        rounded = SUBSPACES[name].projected(matrix)
        projected = inspect.unwrap(type(SUBSPACES[name]).projected)  # without the check that numbers are floats
        exact = projected(SUBSPACES[name], np.vectorize(Fraction, otypes=[object])(matrix))
        off = [Fraction(one) - other for one, other in zip(rounded.ravel().tolist(), exact.ravel())]
        most = Fraction(gamma(SUBSPACES[name].operations(D))) * Fraction(float(np.linalg.norm(matrix)))
        assert sum(one * one for one in off) <= most * most
