"""The margins of an instance as linear inequalities with whole coefficients, exactly, for files that others read.

The unknowns are the free entries of W, or the x_k of W = sum x_k B_k for a subspace that is given by matrices B_k. Each
inequality is multiplied by a positive number that makes its coefficients whole and coprime.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from loadstone.arguments import refuse
from loadstone.memories.subspaces.given import Given
from loadstone.memories.subspaces.masked import Entries
from loadstone.memories.subspaces.patterned import Circulant, Skew, Symmetric, Traceless
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.arrays import Arrays
from loadstone.proofs.dixon import dot, solution

#: A matrix by its entries that are not zero.
Sparse = dict[tuple[int, int], int]


class Inequality(NamedTuple):
    """The margin of an input over a rival: `unit` times the sum of coefficients times unknowns, to be positive.

    size: the power of two by which docs/proofs.md divides this margin, and multiplies its multiplier.
    """

    input: int
    rival: int
    coefficients: list[int]
    unit: Fraction
    size: Fraction

    @property
    def name(self) -> str:
        return f"m_{self.input}_{self.rival}"

    @property
    def digits(self) -> int:
        """How many decimal digits the largest coefficient has after its first."""
        return len(str(max(abs(number) for number in self.coefficients))) - 1


class Inequalities:
    """All margins of an instance, as inequalities in the unknowns of a family.

    most_numbers: with more coefficients in all, the instance is refused before anything is made of it.
    unknowns: their names.
    """

    def __init__(self, arrays: Arrays, subspace: Subspace | None = None, *, most_numbers: int = 10**8) -> None:
        self._arrays = arrays
        shape = arrays.outputs.shape[-1], arrays.inputs.shape[1]
        unknowns = shape[0] * shape[1] if subspace is None else subspace.dimension(shape[1])
        if len(self) * unknowns > most_numbers:
            size = f"of {len(self)} margins in {unknowns} unknowns"
            raise refuse("instance", size, f"of at most {most_numbers} coefficients in all for such a file")
        self._unit, self._basis = _basis(subspace, *shape)
        self.unknowns = list(self._basis)

    def __len__(self) -> int:
        return len(self._arrays.targets) * (self._arrays.outputs.shape[-2] - 1)

    def __iter__(self) -> Iterator[Inequality]:
        arrays = self._arrays
        entries = [[(i, j, number) for (i, j), number in matrix.items()] for matrix in self._basis.values()]
        for mu, target in enumerate(arrays.targets.tolist()):
            e, unit_in = coprime(arrays.inputs[mu].tolist())
            if mu == 0 or arrays.decoupled:
                outputs = arrays.outputs[mu] if arrays.decoupled else arrays.outputs
                wholes, unit_out = coprime(outputs.ravel().tolist())
                rows = np.array(wholes, object).reshape(outputs.shape)
            size = _power_above(arrays.inputs[mu]) * _power_above(outputs)
            for rho in range(len(rows)):
                if rho != target:
                    away = (rows[target] - rows[rho]).tolist()
                    numbers = [sum(x * away[i] * e[j] for i, j, x in matrix) for matrix in entries]
                    factor = math.gcd(*numbers) or 1
                    unit = self._unit * unit_in * unit_out * factor
                    yield Inequality(mu, rho, [number // factor for number in numbers], unit, size)

    def nearest(self, witness: Float64[np.ndarray, "i j"]) -> list[Fraction]:
        """The unknowns of the member nearest to a matrix."""
        wholes, unit = coprime(witness.ravel().tolist())
        matrix = dict(zip(product(range(witness.shape[0]), range(witness.shape[1])), wholes))
        members = list(self._basis.values())
        target = [_inner(member, matrix) for member in members]
        if sum(map(len, members)) == len(set().union(*members)):  # no two have an entry in common
            values = [Fraction(number, _inner(member, member)) for member, number in zip(members, target)]
        else:
            gram = [[_inner(a, b) for b in members] for a in members]
            numerators, scale = solution(gram, target)
            assert all(dot(row, numerators) == scale * number for row, number in zip(gram, target))
            values = [Fraction(numerator, scale) for numerator in numerators]
        return [value * unit / self._unit for value in values]


def coprime(numbers: Sequence[float | Fraction]) -> tuple[list[int], Fraction]:
    """Whole numbers without a common divisor, and the positive number by which they are to be multiplied."""
    ratios = [number.as_integer_ratio() for number in numbers]
    most = math.lcm(*(denominator for _, denominator in ratios))
    wholes = [numerator * (most // denominator) for numerator, denominator in ratios]
    factor = math.gcd(*wholes) or 1
    return [number // factor for number in wholes], Fraction(factor, most)


def _power_above(array: np.ndarray) -> Fraction:
    """The power of two that brings the largest entry into [1/2, 1)."""
    return Fraction(2) ** int(np.frexp(np.abs(array).max())[1])


def _basis(subspace: Subspace | None, rows: int, columns: int) -> tuple[Fraction, dict[str, Sparse]]:
    """Matrices that span a family by the names of their unknowns, and a number by which all are to be multiplied."""
    entries = list(product(range(rows), range(columns)))
    above = [(i, j) for i, j in entries if i < j]
    match subspace:
        case None:
            basis = {_entry(i, j): {(i, j): 1} for i, j in entries}
        case Entries():
            mask = np.asarray(subspace.entries(rows))
            basis = {_entry(i, j): {(i, j): 1} for i, j in entries if mask[i, j]}
        case Symmetric():
            basis = {_entry(i, j): {(i, j): 1, (j, i): 1} for i, j in entries if i <= j}
        case Traceless():
            # The last entry of the diagonal is the rest.
            last = rows - 1
            basis = {_entry(i, i): {(i, i): 1, (last, last): -1} for i in range(last)}
            basis |= {_entry(i, j): {(i, j): 1, (j, i): 1} for i, j in above}
        case Skew():
            basis = {_entry(i, j): {(i, j): 1, (j, i): -1} for i, j in above}
        case Circulant():
            basis = {_entry(k, 0): {(i, j): 1 for i, j in entries if (i - j) % rows == k} for k in range(rows)}
        case Given():
            wholes, unit = coprime(subspace.basis.ravel().tolist())
            parts = [wholes[start : start + len(entries)] for start in range(0, len(wholes), len(entries))]
            return unit, {f"x_{k}": {at: x for at, x in zip(entries, part) if x} for k, part in enumerate(parts)}
        case _:
            raise refuse(
                "family", type(subspace).__name__, "one that loadstone names: of others no exact basis is known"
            )
    return Fraction(1), basis


def _entry(i: int, j: int) -> str:
    return f"W_{i}_{j}"


def _inner(a: Sparse, b: Sparse) -> int:
    return sum(number * b[at] for at, number in a.items() if at in b)
