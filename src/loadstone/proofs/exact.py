"""Proofs about few pairs in whole numbers of any length, where nothing is rounded.

Inputs, outputs and multipliers are multiplied by powers of two that make them whole numbers. Then either their sum
R = sum lambda_i a_i is zero as it is; or, if there are few of them, corrected multipliers are computed exactly. With
W = diag(lambda), A the a_i as rows, and H = A^T W A, these are lambda' = lambda - W A X, H X = R, as docs/proofs.md
specifies them: then A^T lambda' = 0. H need not be invertible, because R lies in its range. This also proves what
bounds on rounding cannot: conflicts of facts that depend on each other, such as two answers for one question.
"""

from __future__ import annotations

import numpy as np

from loadstone.memories.subspaces.given import Given
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.proofs.dixon import solution
from loadstone.proofs.pairs import Pairs

#: Sums of more products than this are not done in long numbers, and no larger systems are solved in them.
_MOST_PRODUCTS, _MOST_UNKNOWNS = 2 * 10**6, 64
#: Nor are systems made of more products, or solved if their solution may have more bits: that could take minutes.
_MOST_PRODUCTS_OF_A_SYSTEM, _MOST_BITS = 4 * 10**7, 10**5

Wholes = np.ndarray  # of Python's whole numbers


def sums_to_zero(pairs: Pairs, subspace: Subspace | None = None) -> bool:
    """Whether sum lambda_i a_i is zero exactly, or its projection onto a subspace; False if it has too many terms."""
    rows = _rows(pairs, subspace)
    return rows is not None and not (_multipliers(pairs) @ rows).any()


def corrected_exactly(pairs: Pairs, subspace: Subspace | None = None) -> bool:
    """Whether multipliers near these, positive only where these are, make the sum zero; False if there are too many."""
    rows = _rows(pairs, subspace)
    if rows is None or min(rows.shape) > _MOST_UNKNOWNS or rows.size * min(rows.shape) > _MOST_PRODUCTS_OF_A_SYSTEM:
        return False
    given = _multipliers(pairs)
    factors = rows if rows.shape[1] <= rows.shape[0] else rows @ rows.T  # X = A^T Y: fewer unknowns
    matrix = (factors.T * given) @ factors
    if len(matrix) * max(map(int.bit_length, matrix.flat)) > _MOST_BITS:
        return False
    change, divisor = _solution(matrix, given @ factors)
    corrected = given * divisor - given * (factors @ change)
    return bool((corrected >= 0).all() and corrected.any() and not (corrected @ rows).any())


def _rows(pairs: Pairs, subspace: Subspace | None) -> Wholes | None:
    """The a_i with positive multipliers as rows of whole numbers, each times a positive number that they share."""
    d = pairs.inputs.shape[1]
    count, entries = np.count_nonzero(pairs.multipliers), d * pairs.outputs.shape[-1]
    # Before the axes are made: those of a large family would fill the memory.
    if count * entries * (1 if subspace is None else subspace.dimension(d)) > _MOST_PRODUCTS:
        return None
    axes = None if subspace is None else _whole_axes(subspace, d)
    if subspace is not None and axes is None:
        return None
    inputs, outputs, rows = _wholes(pairs.inputs), _wholes(pairs.outputs), []
    for mu, rho in np.argwhere(pairs.multipliers > 0):
        of_input = outputs[mu] if pairs.decoupled else outputs
        rows.append(np.outer(of_input[rho] - of_input[pairs.targets[mu]], inputs[mu]).ravel())
    matrix = np.array(rows, object)
    return matrix if axes is None else matrix @ axes.T


def _multipliers(pairs: Pairs) -> Wholes:
    return _wholes(pairs.multipliers[pairs.multipliers > 0])


def _wholes(array: np.ndarray) -> Wholes:
    """The array times the smallest power of two that makes all of it whole numbers."""
    ratios = [number.as_integer_ratio() for number in array.ravel().tolist()]
    most = max(divisor for _, divisor in ratios)
    return np.array([top * (most // divisor) for top, divisor in ratios], object).reshape(array.shape)


def _whole_axes(subspace: Subspace, d: int) -> Wholes | None:
    """A basis of a subspace in whole numbers; None if none is known."""
    if isinstance(subspace, Given):
        return _wholes(subspace.scaled_basis.reshape(-1, d * d))
    axes = subspace.axes(d)
    sizes = np.abs(axes).reshape(len(axes), -1)
    least = np.where(sizes > 1e-9, sizes, np.inf).min(axis=1)
    whole = np.rint(axes / least[:, None, None])
    # Rounded to whole numbers they are members, and independent as they were: hardly any entry has moved.
    if not np.allclose(whole, axes / least[:, None, None], atol=1e-9) or not all(map(subspace.contains, whole)):
        return None
    return whole.reshape(len(axes), -1).astype(int).astype(object)


def _solution(matrix: Wholes, right: Wholes) -> tuple[Wholes, int]:
    """X and c > 0 with matrix X = c right."""
    numerators, divisor = solution(matrix.tolist(), right.tolist())
    return np.array(numerators, object), divisor
