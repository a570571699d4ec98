"""Exact solutions of linear systems in whole numbers."""

from __future__ import annotations

from collections.abc import Sequence

#: Digits are taken to this base. It is large, so that they are few, and prime.
_BASE = 2**127 - 1

Row = Sequence[int]


def dot(a: Row, b: Row) -> int:
    """The inner product of two rows of whole numbers."""
    return sum(map(int.__mul__, a, b))


def solution(matrix: Sequence[Row], target: Row) -> tuple[list[int], int]:
    """Whole numbers x and s > 0 with matrix x = s target, for a positive semidefinite matrix and a target in its range.

    By Dixon's method: a matrix that is the inverse modulo a prime yields x / s digit by digit to the base of that
    prime, and the few rational numbers that have those digits follow by Euclid's algorithm. A row that depends on those
    before it is left out, and its unknown is zero. Callers verify what they conclude from the result: if the inputs are
    not as they must be, or a number vanishes modulo the prime by bad luck, it is wrong.
    """
    used, inverse = _inverse(matrix)
    part, rest = [[matrix[i][j] for j in used] for i in used], [target[i] for i in used]
    largest = max((abs(number) for row in (*matrix, target) for number in row), default=0)
    # By Hadamard, numerators and denominators are shorter than this.
    bits = (len(used) + 1) * (largest.bit_length() + len(used).bit_length())
    x, power, scale = [0] * len(used), 1, 1
    while power.bit_length() < 2 * bits + 2:
        digits = [dot(row, rest) % _BASE for row in inverse]
        x, power = [number + power * digit for number, digit in zip(x, digits)], power * _BASE
        rest = [(left - dot(row, digits)) // _BASE for left, row in zip(rest, part)]
    for number in x:
        scale *= _denominator(number * scale % power, power, bits)
    found = {i: (number * scale + power // 2) % power - power // 2 for i, number in zip(used, x)}
    return [found.get(i, 0) for i in range(len(matrix))], scale


def _inverse(matrix: Sequence[Row]) -> tuple[list[int], list[list[int]]]:
    """Indices of rows that the others depend on, and the inverse of that part of the matrix, modulo the prime."""
    size, used = len(matrix), []
    rows = [[number % _BASE for number in row] + [int(i == j) for j in range(size)] for i, row in enumerate(matrix)]
    for c in range(size):
        if rows[c][c]:
            used.append(c)
            factor = pow(rows[c][c], -1, _BASE)
            rows[c] = pivot = [number * factor % _BASE for number in rows[c]]
            for r in range(size):
                if r != c and (factor := rows[r][c]):
                    rows[r] = [(a - factor * b) % _BASE for a, b in zip(rows[r], pivot)]
    return used, [[rows[i][size + j] for j in used] for i in used]


def _denominator(number: int, power: int, bits: int) -> int:
    """The smallest q for which q number, modulo power, is a number of so few bits."""
    before, now, last, q = power, number, 0, 1
    while now.bit_length() > bits:
        quotient, left = divmod(before, now)
        before, now, last, q = now, left, q, last - quotient * q
    return abs(q)
