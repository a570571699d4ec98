"""Proofs about linear families: what is tampered with, or claimed for another family, is refused."""

import re

import numpy as np
import pytest

from loadstone.memories.families import subspace_of
from loadstone.memories.subspaces.given import Given
from loadstone.problems.arrays import Arrays
from loadstone.problems.instance import Instance
from loadstone.proofs.certificate import check_proof, write_proof
from loadstone.proofs.verdict import Outcome
from loadstone.solvers.decide import decide
from loadstone.streams.stream import Stream
from tests.proofs.tampered import changed

D = 6
BASIS = np.random.default_rng(5).standard_normal((15, D, D))
FAMILIES = ["symmetric", "traceless", "skew", "masked:0.6", "blocks:2", "diagonal", "circulant", "given"]
STORABLE, NOT_STORABLE = 4, 17


@pytest.fixture(scope="module")
def proofs(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("proofs"), {}
    for name in FAMILIES:
        family = Given(BASIS) if name == "given" else subspace_of(name, D, seed=0)
        for p in (2 if name in ("diagonal", "circulant") else STORABLE, NOT_STORABLE):
            arrays = Instance(Stream(0, D), p).arrays()
            verdict = decide(arrays, family=family)
            path = folder / f"{name.replace(':', '-')}-{p}.npz"
            write_proof(path, arrays, verdict=verdict)
            made[name, verdict.verdict] = path
            assert check_proof(path).reason == verdict.reason
    return made


def is_not_storable(proof, family):
    with np.load(proof) as file:
        arrays = Arrays(file["inputs"], file["outputs"], file["targets"])
    return decide(arrays, family=family).verdict == Outcome.NOT_STORABLE


def checked(*given, **changes):
    return check_proof(changed(*given, **changes))


@pytest.mark.parametrize("name", FAMILIES)
def test_proofs_hold_and_those_for_another_family_do_not(name, proofs, tmp_path):
    for verdict in (Outcome.STORABLE, Outcome.NOT_STORABLE):
        proof = proofs[name, verdict]
        found = check_proof(proof)
        assert found.valid and found.verdict == verdict and found.family.startswith(name.partition(":")[0])
        # 'skew' and 'symmetric' share nothing, and of the others neither holds the circulant matrices, nor the reverse.
        other = "circulant" if name != "circulant" else "skew"
        arrays = {"mask": None} if name.startswith("masked") else {"basis": None} if name == "given" else {}
        forged = checked(proof, tmp_path, family=other, **arrays)
        if verdict == Outcome.STORABLE:
            assert not forged.valid and "the witness is not of the family" in forged.reason
        else:  # multipliers for one family may be near those for another: then what they prove is true
            assert not forged.valid or is_not_storable(proof, other)
        # A certificate about a family says nothing about all matrices.
        if verdict == Outcome.NOT_STORABLE:
            whole = checked(proof, tmp_path, family="full", **arrays)
            assert not whole.valid and whole.family == "full"


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_tampered_with_is_refused(name, proofs, tmp_path):
    outside = np.random.default_rng(0).standard_normal((D, D))
    witness = proofs[name, Outcome.STORABLE]
    # So little that every margin stays positive.
    found = checked(witness, tmp_path, witness=lambda w: w + 1e-7 * outside)
    assert not found.valid and "the witness is not of the family" in found.reason
    certificate = proofs[name, Outcome.NOT_STORABLE]
    found = checked(certificate, tmp_path, multipliers=lambda x: x * np.where(np.arange(len(x)) == 1, 1e3, 1)[:, None])
    assert not found.valid and "do not prove that no W is left" in found.reason


def test_a_last_digit_outside_of_the_family_counts_as_an_error(proofs, tmp_path):
    """Then the member nearest to the witness is meant."""
    proof = proofs["symmetric", Outcome.STORABLE]

    def nudged(witness):
        witness[0, 1] = np.nextafter(witness[0, 1], 9)
        return witness

    found = checked(proof, tmp_path, witness=nudged)
    assert found.valid and found.margin < check_proof(proof).margin


@pytest.mark.parametrize("changes, reason", [
    ({"family": "round"}, "its family is not one: family is 'round', but must be one of symmetric"),
    ({"family": "blocks:count=4"}, "its family is not one"),
    ({"mask": None}, "its family is not one: family is 'masked', but must be given with mask"),
    ({"mask": lambda mask: mask[:5, :5]}, r"its family is not one: mask.shape is \(5, 5\)"),
    ({"mask": lambda mask: mask & False}, "its family is not one: mask is 'empty in row 0'"),
    ({"mask": lambda mask: ~np.eye(D, dtype=bool)}, "the witness is not of the family"),
    ({"basis": BASIS}, "its family is not one: family parameter is 'basis'"),
    ({"version": 1}, "its version is 1, but 3 is the one of today"),
    ({"family": None}, "the file lacks family"),
    ({"family": "full"}, "it holds a mask, but no family"),
    ({"more": 1}, "the file holds more, which no proof does"),
])  # fmt: skip
def test_what_does_not_go_with_the_family_is_refused(changes, reason, proofs, tmp_path):
    found = checked(proofs["masked:0.6", Outcome.STORABLE], tmp_path, **changes)
    assert not found.valid
    assert re.search(reason, found.reason), found.reason
