#!/usr/bin/env python3
"""Check a proof file of loadstone in exact rational arithmetic: python check_exact.py proof.npz

Written from docs/proofs.md alone, with Python's standard library alone. Nothing is rounded: each float is the fraction
that it is. Matrices may be up to 8 x 8. Exit code 0: the proof is valid; 1: it is not; 2: no file; 3: too large.
"""

import ast
import hashlib
import math
import struct
import sys
import zipfile
from collections import namedtuple
from fractions import Fraction
from itertools import product
from pathlib import Path

VALID, NOT_VALID, NO_FILE, TOO_LARGE = range(4)
MOST_ROWS, MOST_BYTES, MOST_PAIRS, MOST_BITS, PRIME = 8, 2**24, 5000, 10**5, 2**127 - 1
REQUIRED = {"version", "verdict", "family", "inputs", "outputs", "targets", "about", "checksum"}
Array = namedtuple("Array", "descr shape data values")  # a member of the file; its values are numbers, or a text
LETTERS = {"<f4": "f", "<f8": "d", "<i8": "q", "|b1": "?"}  # types of arrays, in the words of the module struct


class StopError(Exception):
    """Why a proof is not accepted: (NOT_VALID, reason) or (TOO_LARGE, reason)."""


def read(path):
    """The arrays of a file by name. Their types and the checksum are verified, not yet what they say."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > MOST_BYTES:
                raise StopError(TOO_LARGE, f"more than {MOST_BYTES} bytes")
            if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
                raise StopError(NOT_VALID, "a member of the file is neither stored nor deflated")
            arrays = {}
            for member in members:
                with archive.open(member) as file:  # read(size): otherwise zipfile may unpack more than a member states
                    arrays[member.filename.removesuffix(".npy")] = parsed(file.read(member.file_size + 1))
    except StopError:
        raise
    except Exception as error:  # a damaged or hostile file can make zipfile, zlib or ast raise anything
        raise StopError(NOT_VALID, f"the file is damaged or not a proof ({type(error).__name__})") from error
    if len(arrays) < len(members) or not REQUIRED <= set(arrays):
        raise StopError(NOT_VALID, f"an array occurs twice, or one is missing of {', '.join(sorted(REQUIRED))}")
    digest = hashlib.sha256()
    for name in sorted(set(arrays) - {"checksum"}):
        digest.update(f"{name} {arrays[name].descr} {arrays[name].shape or (1,)} ".encode() + arrays[name].data)
    if arrays["checksum"].values != digest.hexdigest():
        raise StopError(NOT_VALID, "its contents do not match their checksum")
    if numbers(arrays, "version", ("<i8",), ()) != (3,):
        raise StopError(NOT_VALID, "its version is not 3")
    return arrays


def parsed(content):
    """A .npy member as an array."""
    (length,) = struct.unpack("<H", content[8:10])
    if content[:8] != b"\x93NUMPY\x01\x00" or length > 1024:
        raise ValueError("not an array")
    header, data = ast.literal_eval(content[10 : 10 + length].decode("latin1").strip()), content[10 + length :]
    descr, shape = header["descr"], header["shape"]
    if header["fortran_order"] or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError("not in C order, or no shape")
    if descr.startswith("<U") and shape == () and len(data) == 4 * int(descr[2:]):
        return Array(descr, shape, data, data.decode("utf-32-le").rstrip("\0"))
    values = struct.unpack(f"<{math.prod(shape)}{LETTERS[descr]}", data)
    if not all(map(math.isfinite, values)):
        raise ValueError("not finite")
    if any(value and not 2**-500 < abs(value) < 2**500 for value in values):
        raise StopError(TOO_LARGE, "its numbers are of too different sizes")
    return Array(descr, shape, data, values)


def numbers(arrays, name, types, shape):
    """The numbers of an array, which must be of one of these types and of this shape."""
    if name not in arrays or arrays[name].descr not in types or arrays[name].shape != shape:
        raise StopError(NOT_VALID, f"{name} are missing, or not of type {' or '.join(types)} and shape {shape}")
    return arrays[name].values


def split(values, size):
    """Equal parts of a list."""
    return [values[start : start + size] for start in range(0, len(values), size)]


def family_of(arrays, rows, columns):
    """Matrices that span the family, each as {(i, j): whole number}. Their scale does not matter."""
    family, d, entries = arrays["family"].values, rows, list(product(range(rows), range(columns)))
    if family == "masked":
        return [{at: 1} for at, free in zip(entries, numbers(arrays, "mask", ("|b1",), (rows, columns))) if free]
    if family == "given":
        count = min([*arrays["basis"].shape[:1], len(entries)])  # more cannot be independent
        values = numbers(arrays, "basis", ("<f8",), (count, rows, columns))
        return [dict(zip(entries, whole(matrix)[0])) for matrix in split(values, len(entries))]
    if family == "full":
        return [{at: 1} for at in entries]
    if rows != columns:
        raise StopError(NOT_VALID, f"the family {family!r} has square matrices only")
    above = [(i, j) for i, j in entries if i < j]
    if family == "symmetric":
        return [{(i, j): 1, (j, i): 1} for i, j in above] + [{(i, i): 1} for i in range(d)]
    if family == "traceless":
        return [{(i, j): 1, (j, i): 1} for i, j in above] + [{(i, i): 1, (0, 0): -1} for i in range(1, d)]
    if family == "skew":
        return [{(i, j): 1, (j, i): -1} for i, j in above]
    if family == "circulant":
        return [{(i, j): 1 for i, j in entries if (i - j) % d == k} for k in range(d)]
    for count in range(1, d + 1):
        if (family == f"blocks:{count}" and d % count == 0) or (family == "diagonal" and count == d):
            return [{(i, j): 1} for i, j in entries if i // (d // count) == j // (d // count)]
    raise StopError(NOT_VALID, f"its family is {family!r}, which is none")


def inequalities(arrays):
    """The matrices B_k, and for each input and rival the numbers <(u_target - u_rival) e^T, B_k> as whole numbers, with
    the positive fraction by which these are to be multiplied, and the power of two that scales this pair."""
    if len(arrays["inputs"].shape) != 2 or len(arrays["outputs"].shape) not in (2, 3):
        raise StopError(NOT_VALID, "its inputs or outputs have another number of dimensions")
    (n, d_in), (*sets, m, d_out) = arrays["inputs"].shape, arrays["outputs"].shape
    if not (n and d_in and d_out and m > 1) or sets not in ([], [n]):
        raise StopError(NOT_VALID, "its inputs and outputs do not belong together")
    if max(d_in, d_out) > MOST_ROWS or n * m > MOST_PAIRS:
        raise StopError(TOO_LARGE, f"{n} inputs, {m} outputs, matrices {d_out} x {d_in}")
    basis = family_of(arrays, d_out, d_in)
    inputs = split(numbers(arrays, "inputs", ("<f4", "<f8"), (n, d_in)), d_in)
    outputs = numbers(arrays, "outputs", ("<f4", "<f8"), (*sets, m, d_out))
    outputs = split(split(list(map(Fraction, outputs)), d_out), m) * (1 if sets else n)
    targets = numbers(arrays, "targets", ("<i8",), (n,))
    rows = {}
    for mu, target in enumerate(targets):
        if not 0 <= target < m:
            raise StopError(NOT_VALID, f"target {mu} is {target}, which is none of the outputs")
        e, length = whole(inputs[mu])
        size = Fraction(2) ** sum(math.frexp(max(map(abs, v)))[1] for v in (inputs[mu], sum(outputs[mu], [])))
        for rho in set(range(m)) - {target}:
            away, other = whole([t - r for t, r in zip(outputs[mu][target], outputs[mu][rho])])
            rows[mu, rho] = [sum(x * away[i] * e[j] for (i, j), x in b.items()) for b in basis], length * other, size
    return basis, rows


def check_witness(arrays):
    """The W = sum x_k B_k nearest to the witness, so that <B_l, W> = <B_l, witness>, has positive margins only."""
    basis, rows = inequalities(arrays)
    shape = arrays["outputs"].shape[-1], arrays["inputs"].shape[-1]
    witness, _ = whole(numbers(arrays, "witness", ("<f8",), shape))
    witness = dict(zip(product(*map(range, shape)), witness))
    inner = [[sum(x * other[at] for at, x in b.items() if at in other) for other in (*basis, witness)] for b in basis]
    x, scale = solution([row[:-1] for row in inner], [row[-1] for row in inner])
    if any(dot(row[:-1], x) != scale * row[-1] for row in inner):
        raise StopError(NOT_VALID, "the witness has no nearest matrix in the family")
    for (mu, rho), (row, _, _) in rows.items():
        if dot(row, x) <= 0:
            raise StopError(NOT_VALID, f"the margin of input {mu} over output {rho} is not positive")


def check_multipliers(arrays):
    """With R = sum lambda_i a_i, H = sum lambda_i a_i a_i^T and H X = R, the numbers lambda_i (1 - <a_i, X>) make
    sum lambda_i (1 - <a_i, X>) a_i = 0. None of them is negative and some are positive, so nothing can be stored."""
    _, rows = inequalities(arrays)
    n, m = arrays["inputs"].shape[0], arrays["outputs"].shape[-2]
    lambdas = split(numbers(arrays, "multipliers", ("<f8",), (n, m)), m)
    positive = [(Fraction(lambdas[mu][rho]), *row) for (mu, rho), row in rows.items() if lambdas[mu][rho]]
    # lambda_i = value * size, and a_i = row * length / size.
    used = [(value * size, row, length / size) for value, row, length, size in positive]
    if not used or min(map(min, lambdas)) < 0:
        raise StopError(NOT_VALID, "a multiplier is negative, or none is positive")
    singles, unit = whole([value * length for value, _, length in used])
    doubles, squared_unit = whole([value * length**2 for value, _, length in used])
    columns = list(zip(*(row for _, row, _ in used)))
    weighted = [list(map(int.__mul__, doubles, column)) for column in columns]
    hessian = [[dot(one, other) for other in columns] for one in weighted]
    x, scale = solution(hessian, [dot(singles, column) for column in columns])
    factors = [1 - Fraction(dot(row, x), scale) * length * unit / squared_unit for _, row, length in used]
    corrected, _ = whole([single * factor for single, factor in zip(singles, factors)])
    if min(corrected) < 0 or max(corrected) == 0 or any(dot(corrected, column) for column in columns):
        raise StopError(NOT_VALID, "the multipliers, corrected so that their sum is exactly zero, are not all positive")


def solution(matrix, target):
    """Whole numbers x and s > 0 with matrix x = s target, for a positive semidefinite matrix and a target in its range.
    They are found digit by digit to the base of a prime (Dixon). Callers verify what follows from them."""
    k, used = len(matrix), []
    rows = [[x % PRIME for x in row] + [int(i == j) for j in range(k)] for i, row in enumerate(matrix)]
    for c in range(k):
        if rows[c][c]:  # else this row depends on those before it
            used, inverse = [*used, c], pow(rows[c][c], -1, PRIME)
            rows[c] = [x * inverse % PRIME for x in rows[c]]
            for r in set(range(k)) - {c}:
                rows[r] = [(x - rows[r][c] * y) % PRIME for x, y in zip(rows[r], rows[c])]
    inverses = [[rows[i][k + j] for j in used] for i in used]
    part, rest = [[matrix[i][j] for j in used] for i in used], [target[i] for i in used]
    bits = k * (10 + max((x.bit_length() for row in (*matrix, target) for x in row), default=0))
    if bits > MOST_BITS:
        raise StopError(TOO_LARGE, "its numbers are of too different sizes")
    x, power, scale = [0] * len(used), 1, 1
    while power.bit_length() < 2 * bits:
        digits = [dot(row, rest) % PRIME for row in inverses]
        x, power = [y + power * digit for y, digit in zip(x, digits)], power * PRIME
        rest = [(t - dot(row, digits)) // PRIME for t, row in zip(rest, part)]
    for y in x:  # the denominators of all fractions y modulo power
        low, high, a, b = power, scale * y % power, 0, 1
        while high.bit_length() > bits:
            (low, high), a, b = (high, low % high), b, a - low // high * b
        scale *= abs(b)
    found = {i: (y * scale + power // 2) % power - power // 2 for i, y in zip(used, x)}
    return [found.get(i, 0) for i in range(k)], scale


def whole(values):
    """Whole numbers without a common factor, and the positive fraction by which they are to be multiplied."""
    fractions = [Fraction(value) for value in values]
    unit = math.lcm(*(value.denominator for value in fractions))
    integers = [int(value * unit) for value in fractions]
    factor = math.gcd(*integers) or 1
    return [value // factor for value in integers], Fraction(factor, unit)


def dot(a, b):
    return sum(map(int.__mul__, a, b))


def main(path):
    """Print one sentence, and return the exit code."""
    verdict = "no verdict"
    try:
        arrays = read(path)
        family, stated = arrays["family"].values, arrays["verdict"].values
        if stated not in ("storable", "not storable"):
            raise StopError(NOT_VALID, "it states neither 'storable' nor 'not storable'")
        verdict, evidence = stated, "witness" if stated == "storable" else "multipliers"
        if set(arrays) != REQUIRED | {evidence} | {"masked": {"mask"}, "given": {"basis"}}.get(family, set()):
            raise StopError(NOT_VALID, f"its arrays are {', '.join(sorted(arrays))}: too many or too few")
        (check_witness if verdict == "storable" else check_multipliers)(arrays)
    except StopError as error:
        code, reason = error.args
        print(f"{'NOT valid' if code == NOT_VALID else 'not judged'}: {verdict}. {reason}.")
        return code
    shown = "every margin is positive" if verdict == "storable" else "the corrected multipliers sum to exactly zero"
    print(f"valid: {verdict}. In exact arithmetic {shown}; the family is {family!r}.")
    return VALID


if __name__ == "__main__":
    is_given = len(sys.argv) == 2 and Path(sys.argv[1]).is_file()
    sys.exit(main(sys.argv[1]) if is_given else print(__doc__, file=sys.stderr) or NO_FILE)
