"""An instance as a linear program in the LP format (of CPLEX), which nearly every solver reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from loadstone.files import write_whole
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.arrays import Arrays
from loadstone.proofs.inequalities import Inequalities, Inequality

#: Some readers allow 255 characters a line.
_TERMS_A_LINE = 4


def write_lp(path: str | Path, arrays: Arrays, *, family: Subspace | None = None, about: str = "") -> None:
    """Write a linear program that has a solution if and only if the instance is storable; its coefficients are exact.

    family: a linear family of W; None: all matrices.
    about: a line for people, at the beginning.

    Example:
        >>> from loadstone.proofs.lp_file import write_lp
        >>> write_lp("six.lp", loadstone.Instance(loadstone.Stream(0, 4), 6).arrays())
        >>> open("six.lp").read().splitlines()[:4]
        ['Minimize', ' obj: 0 W_0_0', 'Subject To', ' m_0_1:']
    """
    inequalities = Inequalities(arrays, family)

    def write(file: IO[bytes]) -> None:
        file.writelines(f"{line}\n".encode() for line in _lines(inequalities, about))

    write_whole(path, write)


def _lines(inequalities: Inequalities, about: str) -> Iterator[str]:
    if about:
        yield f"\\ {about}"
    yield from ("Minimize", f" obj: 0 {inequalities.unknowns[0]}", "Subject To")
    for inequality in inequalities:
        yield from _constraint(inequality, inequalities.unknowns)
    yield "Bounds"
    for name in inequalities.unknowns:
        yield f" {name} free"
    yield "End"


def _constraint(inequality: Inequality, unknowns: list[str]) -> Iterator[str]:
    """Divided by a power of ten, which changes no digit: solvers that compute in float64 need moderate numbers."""
    yield f" {inequality.name}:"
    digits = inequality.digits
    terms = [f"{_shifted(number, digits)} {name}" for number, name in zip(inequality.coefficients, unknowns) if number]
    terms = terms or [f"+0 {unknowns[0]}"]  # a tie, which no W breaks
    for start in range(0, len(terms), _TERMS_A_LINE):
        yield f"  {' '.join(terms[start : start + _TERMS_A_LINE])}"
    yield "  >= 1"


def _shifted(number: int, digits: int) -> str:
    """number 10^-digits with a sign, and all its digits."""
    text = str(abs(number)).zfill(digits + 1)
    first = len(text) - digits
    return f"{'-' if number < 0 else '+'}{text[:first]}.{text[first:]}".rstrip("0").rstrip(".")
