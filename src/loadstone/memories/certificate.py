"""Proofs as files, and their checker: it imports no solver and trusts nothing that it can compute.

A proof is an .npz with the whole instance (inputs, outputs, targets), the verdict, and either a witness W or Farkas
weights ('multipliers'), together with what they are stated to prove. The checker recomputes it with proven rounding
bounds (rounding.py):

- storable: every margin of the witness, divided by its norm, exceeds its rounding error and reaches the stated margin;
- not storable: no multiplier is negative, some are positive, and no W of unit norm has all margins above the stated
  bound, which is at most 1e-9 of the largest score that a W of unit norm can reach.

A checksum over all contents tells damage from dishonesty; it is not what a proof rests on.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from loadstone.arguments import refuse
from loadstone.files import write_whole
from loadstone.memories.rounding import SLACK, gamma, least_margin, margin_bound, scale
from loadstone.memories.verdict import NOT_STORABLE, STORABLE, Verdict
from loadstone.problems.arrays import Arrays

VERSION = 1
#: A certificate counts if it rules out margins above this share of the largest possible score.
_CERTIFIED = 1e-9
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


def weakest_bound(arrays: Arrays) -> float:
    """The largest bound on the margins that counts as 'not storable'; above 0 even if all scores are 0."""
    return _CERTIFIED * scale(arrays) + 1e-200


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
    # Dividing by a number that is not below the norm can only understate the margin.
    norm = float(np.linalg.norm(witness)) * (1 + SLACK * gamma(witness.size + 4))
    if not (np.isfinite(norm) and norm > 0):
        raise _RefusedError("the witness is zero or not finite")
    margin = least_margin(arrays, witness) / norm
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
    if not np.isfinite(bound):
        raise _RefusedError("no rival has a positive multiplier")
    if not bound <= stated * (1 + _AGREEMENT):
        raise _RefusedError(f"the multipliers prove a bound of {bound:.3g}, not the stated {stated:.3g}")
    if not stated <= (limit := weakest_bound(arrays)):
        raise _RefusedError(f"the bound {stated:.3g} is too weak: at most {limit:.3g} counts")
    reason = f"No W of unit norm has all margins above {stated:.3g}."
    return Check(True, NOT_STORABLE, reason, bound=stated)


def _read(path: str | Path) -> dict[str, np.ndarray]:
    try:
        # NumPy leaves a file that it cannot read open, so it is opened here.
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            contents = {name: file[name] for name in file.files}
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, KeyError, NotImplementedError) as error:
        raise _RefusedError(f"the file is damaged or not a proof ({error})") from error
    missing = {"version", "verdict", "inputs", "outputs", "targets", "checksum"} - set(contents)
    if missing:
        raise _RefusedError(f"the file lacks {', '.join(sorted(missing))}")
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
