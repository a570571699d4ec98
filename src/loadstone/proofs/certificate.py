"""Proofs as files, and their checker: it imports no solver and recomputes every number that a proof states.

A proof is an .npz with the whole instance (inputs, outputs, targets), the family of W (with its mask or basis, if it
has one), the verdict, and either a witness W or Farkas weights ('multipliers'); docs/proofs.md specifies it to the
byte. The checker verifies it with proven bounds on rounding, or in whole numbers:

- storable: every margin of the witness exceeds its rounding error (rounding.py);
- not storable: multipliers near those in the file, none negative and some positive, make the inequalities add up to
  0 > 0 exactly (strict.py, exact.py).

In a family, 'no W' means none of that family, and the witness must be one of it. If it is so only up to rounding, then
its nearest member is meant, and the difference counts as an error (membership.py).

Files of versions 1 and 2 also state a margin or a bound, and that is checked as well. Their multipliers may leave a
remainder: then no W has margins above a bound that is zero but for rounding, and the sentence says so.

A checksum over all contents tells a damaged file from a false proof; no proof rests on it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from loadstone.arguments import instance_of, path_of, refuse
from loadstone.files import write_whole
from loadstone.memories.subspaces.registry import ARRAYS, arrays_of, name_of, subspace_from
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.archive import read_archive
from loadstone.problems.arrays import Arrays
from loadstone.proofs.membership import is_member
from loadstone.proofs.rounding import is_rounding, least_margin, margin_bound
from loadstone.proofs.scaling import scaled
from loadstone.proofs.strict import TooLargeError, excludes_all
from loadstone.proofs.verdict import (
    TIE,
    Outcome,
    Verdict,
    what_a_bound_proves,
    what_a_certificate_proves,
    what_a_witness_proves,
)
from loadstone.readable import readable

VERSION = 3
#: Files of these versions state a margin or a bound, and the second is about families.
_FORMER, _FORMER_OF_FAMILY = 1, 2
_PROVED = (Outcome.STORABLE, Outcome.NOT_STORABLE)
_CONTENTS = frozenset("version verdict inputs outputs targets witness multipliers margin bound about checksum".split())
_OF_FAMILY = frozenset(("family", *ARRAYS))
#: What proves each verdict, and the number that former versions state of it.
_EVIDENCE = {Outcome.STORABLE: ("witness", "margin"), Outcome.NOT_STORABLE: ("multipliers", "bound")}
#: Stated and recomputed numbers may differ by this much, because sums are taken in another order.
_AGREEMENT = 1e-6


@dataclass(frozen=True)
class Check:
    """The result of a check.

    valid: whether the proof holds.
    verdict: the verdict that the file states; None if it states none.
    reason: why the proof is refused, or in one sentence what it proves.
    margin: proven lower bound on the smallest margin of the witness at unit norm.
    remainder: of a file of version 1 or 2 that does not exclude every W: margins above this share of the largest that
        they can be are excluded. None: nothing is left open.
    family: the linear family that the proof is about; 'full' for all matrices.
    """

    valid: bool
    verdict: Outcome | None
    reason: str
    margin: float | None = None
    remainder: float | None = None
    family: str = "full"

    __repr__ = readable


class _RefusedError(Exception):
    """The proof does not hold; the message says why."""


def write_proof(path: str | Path, arrays: Arrays, *, verdict: Verdict, about: dict[str, object] | None = None) -> None:
    """Write a decided verdict with its instance. `about` is for people; the checker ignores it.

    Example:
        >>> from loadstone.proofs.certificate import write_proof
        >>> arrays = loadstone.Instance(loadstone.Stream(0, 4), 14).arrays()
        >>> write_proof("proof.npz", arrays, verdict=loadstone.decide(arrays))
        >>> str(loadstone.check("proof.npz", arrays).verdict)
        'not storable'
    """
    instance_of("verdict", verdict, Verdict, "what decide returned for these arrays")
    about = instance_of("about", {} if about is None else about, Mapping, "a dictionary of what the file should say")
    if verdict.verdict not in _PROVED:
        raise refuse("verdict", str(verdict.verdict), f"{' or '.join(_PROVED)}: there is nothing to prove otherwise")
    _check_instance("arrays", arrays)
    storable = verdict.verdict == Outcome.STORABLE
    contents = {
        "version": np.asarray(VERSION),
        "verdict": np.asarray(str(verdict.verdict)),
        "inputs": arrays.inputs,
        "outputs": arrays.outputs,
        "targets": arrays.targets,
        "witness" if storable else "multipliers": np.asarray(verdict.witness if storable else verdict.certificate),
        "family": np.asarray(_name(verdict.family)),
        "about": np.asarray(json.dumps(about)),
    } | ({} if verdict.family is None else arrays_of(verdict.family))
    contents = {name: np.asarray(array, order="C") for name, array in contents.items()}
    contents["checksum"] = np.asarray(_checksum(contents))
    write_whole(path, lambda file: np.savez(file, **contents))  # type: ignore[arg-type]  # none is an option's name


def _check_instance(name: str, value: object) -> None:
    """A problem has inputs and outputs as well, but they may be rounded: then its proof would be about others."""
    if not isinstance(value, Arrays):
        raise refuse(name, type(value).__name__, "Arrays, such as problem.arrays() gives")


def check_proof(path: str | Path, instance: Arrays | None = None) -> Check:
    """Check a proof file; with `instance`, also that it is about that instance.

    Example:
        >>> from loadstone.proofs.certificate import write_proof
        >>> arrays = loadstone.Instance(loadstone.Stream(0, 4), 6).arrays()
        >>> write_proof("proof.npz", arrays, verdict=loadstone.decide(arrays))
        >>> print(loadstone.check("proof.npz").reason)
        The witness stores every association: at unit norm each margin is above ...
    """
    if not Path(path_of("path", path)).is_file():
        raise FileNotFoundError(f"{path} is not a file: give the name of a proof.")
    if instance is not None:
        _check_instance("instance", instance)
    verdict = None
    try:
        contents = _read(path)
        verdict = Outcome(str(contents["verdict"]))
        arrays = _arrays(contents)
        for name in ("inputs", "outputs", "targets") if instance is not None else ():
            if not np.array_equal(getattr(arrays, name), getattr(instance, name)):
                raise _RefusedError("the proof is about another instance")
        check = _check_witness if verdict == Outcome.STORABLE else _check_certificate
        return check(arrays, contents, _family(contents, arrays.inputs.shape[1]))
    except _RefusedError as refusal:
        return Check(False, verdict, f"{refusal}.")


def _check_witness(arrays: Arrays, contents: dict[str, np.ndarray], subspace: Subspace | None) -> Check:
    witness = _matrix(contents, "witness", (arrays.inputs.shape[1],) * 2)
    if not witness.any():
        raise _RefusedError("the witness is zero")
    if subspace is not None and not is_member(subspace, scaled(witness)[0]):
        raise _RefusedError(f"the witness is not of the family {name_of(subspace)!r}")
    margin = least_margin(arrays, witness, subspace)
    if margin < 0:
        raise _RefusedError("some margin of the witness does not exceed its rounding error")
    if _is_former(contents) and not abs((stated := _number(contents, "margin")) - margin) <= _AGREEMENT * margin:
        raise _RefusedError(f"the stated margin {stated:.6g} is not that of the witness, {margin:.6g}")
    return Check(True, Outcome.STORABLE, what_a_witness_proves(margin, subspace), margin, family=_name(subspace))


def _check_certificate(arrays: Arrays, contents: dict[str, np.ndarray], subspace: Subspace | None) -> Check:
    shape = (len(arrays.targets), arrays.outputs.shape[-2])
    multipliers = _matrix(contents, "multipliers", shape)
    if (multipliers < 0).any():
        index = tuple(int(i) for i in np.argwhere(multipliers < 0)[0])
        raise _RefusedError(f"multiplier {index} is negative ({multipliers[index]:.3g})")
    former, family = _is_former(contents), _name(subspace)
    bound = margin_bound(arrays, multipliers, subspace)
    if former:
        stated = _number(contents, "bound")
        if not bound.margin <= stated * (1 + _AGREEMENT):
            raise _RefusedError(f"the multipliers prove a bound of {bound.margin:.3g}, not the stated {stated:.3g}")
    try:
        if excludes_all(arrays, multipliers, subspace):
            reason = TIE if bound.share == 0 else what_a_certificate_proves(subspace)
            return Check(True, Outcome.NOT_STORABLE, reason, family=family)
        why = "the multipliers do not prove that no W is left"
    except TooLargeError as error:
        why = str(error)
    if not former or not is_rounding(bound, arrays):
        raise _RefusedError(why)
    reason = what_a_bound_proves(bound.share, subspace)
    return Check(True, Outcome.NOT_STORABLE, reason, remainder=bound.share, family=family)


def _is_former(contents: dict[str, np.ndarray]) -> bool:
    return contents["version"].item() != VERSION


def _name(subspace: Subspace | None) -> str:
    return "full" if subspace is None else name_of(subspace)


def _read(path: str | Path) -> dict[str, np.ndarray]:
    try:
        contents, unknown = read_archive(path, _CONTENTS | _OF_FAMILY)
    except ValueError as error:
        raise _RefusedError(f"the file is damaged or not a proof ({error})") from error
    missing = {"version", "verdict", "inputs", "outputs", "targets", "checksum"} - set(contents)
    if missing:
        raise _RefusedError(f"the file lacks {', '.join(sorted(missing))}")
    if unknown:
        raise _RefusedError(f"the file holds {', '.join(sorted(unknown))}, which no proof does")
    version = contents["version"].item() if contents["version"].shape == () else None
    if version not in (VERSION, _FORMER_OF_FAMILY if "family" in contents else _FORMER):
        raise _RefusedError(f"its version is {contents['version']!s}, but {VERSION} is the one of today")
    if version == VERSION and "family" not in contents:
        raise _RefusedError("the file lacks family")
    checksum = contents.pop("checksum")
    if str(checksum) != _checksum(contents):
        raise _RefusedError("its contents do not match their checksum")
    if str(contents["verdict"]) not in _PROVED:
        raise _RefusedError(f"its verdict is {str(contents['verdict'])!r}, but only {' and '.join(_PROVED)} are proved")
    allowed = _EVIDENCE[Outcome(str(contents["verdict"]))][: 2 if _is_former(contents) else 1]
    if others := contents.keys() & {name for names in _EVIDENCE.values() for name in names} - set(allowed):
        raise _RefusedError(f"it holds {' and '.join(sorted(others))}, which no proof of its verdict and version does")
    return contents


def _arrays(contents: dict[str, np.ndarray]) -> Arrays:
    for name in ("inputs", "outputs"):
        if contents[name].dtype not in (np.float32, np.float64):
            raise _RefusedError(f"its {name} are {contents[name].dtype}, but must be float32 or float64")
    try:
        return Arrays(contents["inputs"], contents["outputs"], contents["targets"])
    except ValueError as error:
        raise _RefusedError(f"its instance is not one: {str(error).rstrip('.')}") from error


def _family(contents: dict[str, np.ndarray], d: int) -> Subspace | None:
    arrays = {name: contents[name] for name in ARRAYS if name in contents}
    if str(contents.get("family", "full")) == "full":
        if arrays:
            raise _RefusedError(f"it holds a {' and a '.join(arrays)}, but no family")
        return None
    try:
        return subspace_from(str(contents["family"]), arrays, d)
    except ValueError as error:
        raise _RefusedError(f"its family is not one: {str(error).rstrip('.')}") from error


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


def _checksum(contents: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(contents):
        array = np.ascontiguousarray(contents[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
