"""Proofs as files, and their checker: it imports no solver and recomputes every number that a proof states.

A proof is an .npz with the whole instance (inputs, outputs, targets), the verdict, and either a witness W or Farkas
weights ('multipliers'), together with the margin or bound that they prove. A proof about a linear family (version 2)
also holds the family's name, and its mask or basis if it has one. The checker recomputes it with proven rounding bounds
(rounding.py, membership.py):

- storable: every margin of the witness, divided by its norm, exceeds its rounding error and a small share of the
  largest value that it can have; the smallest margin is the stated one;
- not storable: no multiplier is negative, some are positive, and no W has margins that are all above that same share,
  which is zero but for rounding (`tolerance` says how small); the bound on the margins is the stated one.

So no instance has a valid proof of both kinds. In a family, 'no W' means none of that family, and the witness must be
one of it. If it is so only up to rounding, then its nearest member is meant, and the difference counts as an error.

A checksum over all contents tells a damaged file from a false proof; no proof rests on it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from loadstone.arguments import refuse
from loadstone.files import write_whole
from loadstone.memories.subspaces.registry import ARRAYS, arrays_of, name_of, subspace_from
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.archive import read_archive
from loadstone.problems.arrays import Arrays
from loadstone.proofs.membership import is_member
from loadstone.proofs.rounding import certifies, least_margin, margin_bound, scaled, stores, tolerance
from loadstone.proofs.verdict import Outcome, Verdict, what_a_certificate_proves, what_a_witness_proves
from loadstone.readable import readable

#: Of proofs about all matrices, and of proofs about a family.
VERSION, FAMILY_VERSION = 1, 2
_PROVED = (Outcome.STORABLE, Outcome.NOT_STORABLE)
_CONTENTS = frozenset("version verdict inputs outputs targets witness multipliers margin bound about checksum".split())
_OF_FAMILY = frozenset(("family", *ARRAYS))
#: Stated and recomputed numbers may differ by this much, because sums are taken in another order.
_AGREEMENT = 1e-6


@dataclass(frozen=True)
class Check:
    """The result of a check.

    valid: whether the proof holds.
    verdict: the verdict that the file states; None if it states none.
    reason: why the proof is refused, or in one sentence what it proves and what it does not exclude.
    margin: proven lower bound on the smallest margin of the witness at unit norm.
    bound: proven by the multipliers: no W of unit norm has all margins above it.
    share: the same as `margin` or `bound`, relative to |u_target - u_rho| |e_mu|, the largest that each margin can be.
    family: the linear family that the proof is about; 'full' for all matrices.
    """

    valid: bool
    verdict: Outcome | None
    reason: str
    margin: float | None = None
    bound: float | None = None
    share: float | None = None
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
    if verdict.verdict not in _PROVED:
        raise refuse("verdict", str(verdict.verdict), f"{' or '.join(_PROVED)}: there is nothing to prove otherwise")
    _check_instance("arrays", arrays)
    storable = verdict.verdict == Outcome.STORABLE
    contents = {
        "version": np.asarray(VERSION if verdict.family is None else FAMILY_VERSION),
        "verdict": np.asarray(str(verdict.verdict)),
        "inputs": arrays.inputs,
        "outputs": arrays.outputs,
        "targets": arrays.targets,
        "witness" if storable else "multipliers": np.asarray(verdict.witness if storable else verdict.certificate),
        "margin" if storable else "bound": np.asarray(verdict.margin if storable else verdict.bound),
        "about": np.asarray(json.dumps(about or {})),
    }
    if verdict.family is not None:
        contents |= {"family": np.asarray(name_of(verdict.family)), **arrays_of(verdict.family)}
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
    if not Path(path).is_file():
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
    witness, stated = _matrix(contents, "witness", (arrays.inputs.shape[1],) * 2), _number(contents, "margin")
    if not witness.any():
        raise _RefusedError("the witness is zero")
    if subspace is not None and not is_member(subspace, scaled(witness)[0]):
        raise _RefusedError(f"the witness is not of the family {name_of(subspace)!r}")
    margin, share = bound = least_margin(arrays, witness, subspace)
    if not share > 0:
        raise _RefusedError("some margin of the witness does not exceed its rounding error")
    if not abs(stated - margin) <= _AGREEMENT * margin:
        raise _RefusedError(f"the stated margin {stated:.6g} is not that of the witness, {margin:.6g}")
    if not stores(bound, arrays):
        raise _RefusedError(
            f"some margin of the witness is only {share:.3g} of the largest that it can be; up to "
            f"{tolerance(arrays):.3g} does not count, because certificates need not exclude so small a margin"
        )
    family, reason = _name(subspace), what_a_witness_proves(margin, subspace)
    return Check(True, Outcome.STORABLE, reason, margin=margin, share=share, family=family)


def _check_certificate(arrays: Arrays, contents: dict[str, np.ndarray], subspace: Subspace | None) -> Check:
    shape = (len(arrays.targets), arrays.outputs.shape[-2])
    multipliers, stated = _matrix(contents, "multipliers", shape), _number(contents, "bound")
    if (multipliers < 0).any():
        index = tuple(int(i) for i in np.argwhere(multipliers < 0)[0])
        raise _RefusedError(f"multiplier {index} is negative ({multipliers[index]:.3g})")
    bound = margin_bound(arrays, multipliers, subspace)
    if not np.isfinite(bound.share):
        raise _RefusedError("the multipliers prove nothing: none is positive, or only where rival and target are close")
    if not bound.margin <= stated * (1 + _AGREEMENT):
        raise _RefusedError(f"the multipliers prove a bound of {bound.margin:.3g}, not the stated {stated:.3g}")
    if not certifies(bound, arrays):
        raise _RefusedError(f"the bound is too weak: {bound.share:.3g} of the largest margins is more than rounding")
    family, reason = _name(subspace), what_a_certificate_proves(*bound, subspace)
    return Check(True, Outcome.NOT_STORABLE, reason, bound=bound.margin, share=bound.share, family=family)


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
    of_family = "family" in contents
    version = FAMILY_VERSION if of_family else VERSION
    if contents["version"].shape != () or contents["version"].item() != version:
        about = "a family" if of_family else "all matrices"
        raise _RefusedError(f"its version is {contents['version']!s}, but of proofs about {about} it is {version}")
    checksum = contents.pop("checksum")
    if str(checksum) != _checksum(contents):
        raise _RefusedError("its contents do not match their checksum")
    if str(contents["verdict"]) not in _PROVED:
        raise _RefusedError(f"its verdict is {str(contents['verdict'])!r}, but only {' and '.join(_PROVED)} are proved")
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
    if "family" not in contents:
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
