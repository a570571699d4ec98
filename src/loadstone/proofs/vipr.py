"""Proofs in VIPR 1.0, the format in which exact solvers state that a program has no solution, or has one."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import IO

import numpy as np
from jaxtyping import Float64

from loadstone.arguments import refuse
from loadstone.files import write_whole
from loadstone.memories.subspaces.registry import ARRAYS, subspace_from
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.archive import read_archive
from loadstone.problems.arrays import Arrays
from loadstone.proofs.dixon import dot, solution
from loadstone.proofs.inequalities import Inequalities, Inequality, coprime

#: Exact numbers of a larger proof would take minutes and hundreds of megabytes.
_MOST_NUMBERS = 10**6
_INSTANCE, _EVIDENCE = ("inputs", "outputs", "targets"), ("witness", "multipliers")


@contextlib.contextmanager
def _numbers_of_any_length() -> Iterator[None]:
    """Python writes whole numbers of at most 4300 digits, unless it is told otherwise. Exact weights have more."""
    most = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(most)


@_numbers_of_any_length()
def write_vipr(
    path: str | Path,
    arrays: Arrays,
    *,
    witness: Float64[np.ndarray, "d d"] | None = None,
    multipliers: Float64[np.ndarray, "n m"] | None = None,
    family: Subspace | None = None,
) -> None:
    """Write a proof that the linear program of an instance has a solution, or that it has none, in exact numbers.

    witness, multipliers: what proves the one or the other, as `decide` gives them.
    family: the linear family that the proof is about; None: all matrices.

    Example:
        >>> from loadstone.proofs.vipr import write_vipr
        >>> arrays = loadstone.Instance(loadstone.Stream(0, 3), 8).arrays()
        >>> write_vipr("eight.vipr", arrays, multipliers=loadstone.decide(arrays).certificate)
        >>> open("eight.vipr").read().splitlines()[:2]
        ['VER 1.0', 'VAR 9']
    """
    inequalities = Inequalities(arrays, family, most_numbers=_MOST_NUMBERS)
    rows, unknowns = list(inequalities), inequalities.unknowns
    if witness is not None and multipliers is None:
        shown = _of_witness(rows, inequalities.nearest(witness))
    elif multipliers is not None and witness is None:
        shown = _of_multipliers(rows, multipliers)
    else:
        raise refuse("witness and multipliers", "both or none", "one of them")

    def write(file: IO[bytes]) -> None:
        file.writelines(f"{line}\n".encode() for line in (*_program(rows, unknowns), *shown))

    write_whole(path, write)


def convert(proof: str | Path, path: str | Path) -> None:
    """Write the proof in a file, which must be a valid one, as VIPR.

    Example:
        >>> from loadstone.proofs.certificate import write_proof
        >>> from loadstone.proofs.vipr import convert
        >>> arrays = loadstone.Instance(loadstone.Stream(0, 3), 3).arrays()
        >>> write_proof("proof.npz", arrays, verdict=loadstone.decide(arrays))
        >>> convert("proof.npz", "proof.vipr")
        >>> "SOL 1" in open("proof.vipr").read().splitlines()
        True
    """
    contents, _ = read_archive(proof, {*_INSTANCE, *_EVIDENCE, *ARRAYS, "family"})
    arrays = Arrays(*(contents[name] for name in _INSTANCE))
    name, of_family = str(contents.get("family", "full")), {name: contents[name] for name in ARRAYS if name in contents}
    family = None if name == "full" else subspace_from(name, of_family, arrays.inputs.shape[1])
    write_vipr(path, arrays, **{name: contents.get(name) for name in _EVIDENCE}, family=family)


def corrected(rows: list[Inequality], multipliers: Float64[np.ndarray, "n m"]) -> list[int] | None:
    """Weights of the inequalities, none of them negative, with which they add up to zero; None if that fails.

    They are the lambda_i (1 - <a_i, X>) of docs/proofs.md, up to a common factor.
    """
    given = [Fraction(float(multipliers[row.input, row.rival])) * row.size for row in rows]
    used = [index for index, number in enumerate(given) if number > 0]
    # a_i is unit_i coefficients_i, so R = sum single_i coefficients_i.
    units = [rows[i].unit / rows[i].size for i in used]
    singles, single_unit = coprime([given[i] * unit for i, unit in zip(used, units)])
    doubles, double_unit = coprime([given[i] * unit**2 for i, unit in zip(used, units)])
    columns = list(zip(*(rows[i].coefficients for i in used)))
    weighted = [list(map(int.__mul__, doubles, column)) for column in columns]
    # Symmetric: the half above the diagonal is computed.
    upper = [[dot(one, columns[j]) for j in range(i, len(columns))] for i, one in enumerate(weighted)]
    hessian = [[upper[min(i, j)][abs(i - j)] for j in range(len(columns))] for i in range(len(columns))]
    x, scale = solution(hessian, [dot(singles, column) for column in columns])
    factor = single_unit / (double_unit * scale)
    changes = [unit * factor * dot(rows[i].coefficients, x) for i, unit in zip(used, units)]
    changed = [single * (1 - change) for single, change in zip(singles, changes)]
    weights, _ = coprime(changed)
    if not weights or min(weights) < 0 or not any(weights) or any(dot(weights, column) for column in columns):
        return None
    all_weights = [0] * len(rows)
    for index, weight in zip(used, weights):
        all_weights[index] = weight
    return all_weights


def _program(rows: list[Inequality], unknowns: list[str]) -> Iterator[str]:
    yield from ("VER 1.0", f"VAR {len(unknowns)}", " ".join(unknowns), "INT 0", "OBJ min 0", f"CON {len(rows)} 0")
    for row in rows:
        yield f"{row.name} G {10**row.digits} {_sparse(row.coefficients)}"


def _of_multipliers(rows: list[Inequality], multipliers: Float64[np.ndarray, "n m"]) -> list[str]:
    weights = corrected(rows, multipliers)
    if weights is None:
        raise refuse("multipliers", "not such that the inequalities add up to 0 > 0", "those of a valid proof")
    return ["RTP infeas", "SOL 0", "DER 1", f"nothing G 1 0 {{ lin {_sparse(weights)} }} -1"]


def _of_witness(rows: list[Inequality], values: list[Fraction]) -> list[str]:
    wholes, _ = coprime(values)
    sums = [dot(row.coefficients, wholes) for row in rows]
    if min(sums) <= 0:
        raise refuse("witness", "a matrix with a margin that is not positive", "one that stores the instance")
    times = max(-(-(10**row.digits) // number) for row, number in zip(rows, sums))
    return ["RTP range -inf 0", "SOL 1", f"witness {_sparse([times * number for number in wholes])}", "DER 0"]


def _sparse(numbers: list[int]) -> str:
    """The numbers that are not zero, each with its index, and before them how many there are."""
    pairs = [f"{index} {number}" for index, number in enumerate(numbers) if number]
    return " ".join([str(len(pairs)), *pairs])
