"""Proofs as files, and their checker: it imports no solver and trusts nothing that it can compute.

A proof is an .npz with the whole instance (inputs, outputs, targets), the verdict, and either a witness W or Farkas
weights ('multipliers'), together with what they are stated to prove. The checker recomputes it with proven rounding
bounds (rounding.py):

- storable: every margin of the witness, divided by its norm, exceeds its rounding error and reaches the stated margin;
- not storable: no multiplier is negative, some are positive, and no W has margins that are all above a share of their
  largest possible values that is zero but for rounding (`certifies` says how small); the plain bound is the stated one.

A checksum over all contents tells damage from dishonesty; it is not what a proof rests on.
"""

from __future__ import annotations

import decimal
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from loadstone.arguments import refuse
from loadstone.files import write_whole
from loadstone.problems.arrays import Arrays, read_archive
from loadstone.proofs.rounding import certifies, least_margin, margin_bound
from loadstone.proofs.verdict import NOT_STORABLE, STORABLE, Verdict

VERSION = 1
_CONTENTS = frozenset("version verdict inputs outputs targets witness multipliers margin bound about checksum".split())
#: Stated and recomputed numbers may differ in the order of their sums, never by more than this.
_AGREEMENT = 1e-6


@dataclass(frozen=True)
class Check:
    """What the checker found. `reason` says why a proof is refused, or in one sentence what it proves."""

    valid: bool
    verdict: str | None
    reason: str
    margin: float | None = None
    bound: float | None = None


class _RefusedError(Exception):
    """The proof does not hold; the message says why."""


def write_proof(path: str | Path, arrays: Arrays, verdict: Verdict, about: dict[str, object] | None = None) -> None:
    """Write a decided verdict with the instance that it is about. `about` is carried along for people."""
    if verdict.verdict not in (STORABLE, NOT_STORABLE):
        raise refuse("verdict", verdict.verdict, f"{STORABLE} or {NOT_STORABLE}: there is nothing to prove otherwise")
    storable = verdict.verdict == STORABLE
    contents = {
        "version": np.asarray(VERSION),
        "verdict": np.asarray(verdict.verdict),
        "inputs": arrays.inputs,
        "outputs": arrays.outputs,
        "targets": arrays.targets,
        "witness" if storable else "multipliers": verdict.witness if storable else verdict.certificate,
        "margin" if storable else "bound": np.asarray(verdict.margin if storable else verdict.bound),
        "about": np.asarray(json.dumps(about or {})),
    }
    contents["checksum"] = np.asarray(_checksum(contents))
    write_whole(path, lambda file: np.savez(file, **contents))


def check_proof(path: str | Path, instance: Arrays | None = None) -> Check:
    """Check a proof file; with `instance`, also that it is about that instance."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not a file: give the name of a proof.")
    verdict = None
    try:
        contents = _read(path)
        verdict = str(contents["verdict"])
        arrays = _arrays(contents)
        if instance is not None and not _same(arrays, instance):
            raise _RefusedError("the proof is about another instance")
        return _check_witness(arrays, contents) if verdict == STORABLE else _check_certificate(arrays, contents)
    except _RefusedError as refusal:
        return Check(False, verdict, f"{refusal}.")


def _check_witness(arrays: Arrays, contents: dict[str, np.ndarray]) -> Check:
    witness, stated = _matrix(contents, "witness", (arrays.inputs.shape[1],) * 2), _number(contents, "margin")
    if not witness.any():
        raise _RefusedError("the witness is zero")
    margin = least_margin(arrays, witness)
    if not margin > 0:
        raise _RefusedError(f"some margin of the witness does not exceed its rounding error (proven: {margin:.3g})")
    if not abs(stated - margin) <= _AGREEMENT * margin:
        raise _RefusedError(f"the stated margin {stated:.6g} is not that of the witness, {margin:.6g}")
    return Check(True, STORABLE, "The witness stores every association.", margin=margin)


def _check_certificate(arrays: Arrays, contents: dict[str, np.ndarray]) -> Check:
    shape = (len(arrays.targets), arrays.outputs.shape[-2])
    multipliers, stated = _matrix(contents, "multipliers", shape), _number(contents, "bound")
    if (multipliers < 0).any():
        place = tuple(int(i) for i in np.argwhere(multipliers < 0)[0])
        raise _RefusedError(f"multiplier {place} is negative ({multipliers[place]:.3g})")
    bound = margin_bound(arrays, multipliers)
    if not np.isfinite(bound.margin):
        raise _RefusedError("the multipliers prove nothing: no rival has a positive one, or numbers overflow")
    if not bound.margin <= stated * (1 + _AGREEMENT):
        raise _RefusedError(f"the multipliers prove a bound of {bound.margin:.3g}, not the stated {stated:.3g}")
    if not certifies(bound, arrays):
        raise _RefusedError(f"the bound is too weak: {bound.cosine:.3g} of the largest margins is more than rounding")
    reason = f"No W of unit norm has all margins above {rounded(bound.margin, up=True)}."
    return Check(True, NOT_STORABLE, reason, bound=bound.margin)


def rounded(value: float, up: bool) -> str:
    """Three digits, rounded so that what is said of a bound (up) or of a margin (down) stays true."""
    context = decimal.Context(prec=3, rounding=decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR)
    return f"{context.create_decimal(value):g}"


def _read(path: str | Path) -> dict[str, np.ndarray]:
    try:
        contents, unknown = read_archive(path, _CONTENTS)
    except ValueError as error:
        raise _RefusedError(f"the file is damaged or not a proof ({error})") from error
    missing = {"version", "verdict", "inputs", "outputs", "targets", "checksum"} - set(contents)
    if missing:
        raise _RefusedError(f"the file lacks {', '.join(sorted(missing))}")
    if unknown:
        raise _RefusedError(f"the file holds {', '.join(sorted(unknown))}, which no proof does")
    if contents["version"].shape != () or contents["version"].item() != VERSION:
        raise _RefusedError(f"its version is {contents['version']!s}, but this checker reads version {VERSION}")
    checksum = contents.pop("checksum")
    if str(checksum) != _checksum(contents):
        raise _RefusedError("its contents do not match their checksum")
    if str(contents["verdict"]) not in (STORABLE, NOT_STORABLE):
        raise _RefusedError(
            f"its verdict is {str(contents['verdict'])!r}, but only {STORABLE} and {NOT_STORABLE} are proved"
        )
    return contents


def _arrays(contents: dict[str, np.ndarray]) -> Arrays:
    inputs, outputs, targets = (contents[name] for name in ("inputs", "outputs", "targets"))
    for name, array in (("inputs", inputs), ("outputs", outputs)):
        if array.dtype not in (np.float32, np.float64):
            raise _RefusedError(f"its {name} are {array.dtype}, but must be float32 or float64")
    if inputs.ndim != 2 or targets.dtype.kind not in "iu" or targets.size == 0:
        raise _RefusedError("its inputs or targets have the wrong shape or kind")
    try:
        return Arrays(inputs, outputs, targets)
    except ValueError as error:
        raise _RefusedError(f"its instance is not one: {error}") from error


def _matrix(contents: dict[str, np.ndarray], name: str, shape: tuple[int, int]) -> np.ndarray:
    if name not in contents or contents[name].shape != shape or contents[name].dtype != np.float64:
        raise _RefusedError(f"its {name} are missing, or not float64 of shape {shape}")
    if not np.isfinite(contents[name]).all():
        raise _RefusedError(f"its {name} are not all finite")
    return contents[name]


def _number(contents: dict[str, np.ndarray], name: str) -> float:
    if name not in contents or contents[name].shape != () or contents[name].dtype.kind != "f":
        raise _RefusedError(f"the stated {name} is missing")
    return float(contents[name])


def _same(one: Arrays, other: Arrays) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("inputs", "outputs", "targets"))


def _checksum(contents: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(contents):
        array = np.ascontiguousarray(contents[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
