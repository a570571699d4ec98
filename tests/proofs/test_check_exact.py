"""The checker in one file: it accepts what is proved, to the last digit, and nothing else."""

import ast
import hashlib
import json
import struct
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest

import loadstone
from loadstone.memories.families import subspace_of
from loadstone.memories.subspaces.given import Given
from loadstone.problems.arrays import Arrays
from loadstone.problems.instance import Instance
from loadstone.proofs.certificate import check_proof, write_proof
from loadstone.streams.stream import Stream
from tests.proofs.exact_checker import TOOL, check_exact
from tests.proofs.tampered import changed

D = 4
BASIS = np.random.default_rng(5).standard_normal((7, D, D))
FAMILIES = ["full", "symmetric", "traceless", "skew", "masked:0.6", "blocks:2", "diagonal", "circulant", "given"]


def by_hand(path, method=zipfile.ZIP_STORED, **contents):
    """A file as docs/proofs.md specifies it, written byte by byte without NumPy's writer."""
    types = {"f": "<f8", "i": "<i8", "b": "|b1"}
    members, digest = {}, hashlib.sha256()
    for name, value in sorted(contents.items()):
        if isinstance(value, str):
            descr, shape, data = f"<U{len(value)}", (), value.encode("utf-32-le")
        else:
            array = np.array(value)
            descr, shape = types[array.dtype.kind], array.shape
            letter = {"<f8": "d", "<i8": "q", "|b1": "?"}[descr]
            data = struct.pack(f"<{array.size}{letter}", *array.ravel().tolist())
        digest.update(f"{name} {descr} {shape or (1,)} ".encode() + data)
        members[name] = _member(descr, shape, data)
    members["checksum"] = _member("<U64", (), digest.hexdigest().encode("utf-32-le"))
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def _member(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


#: Two facts in conflict: the second input is three times the first, and wants the other output.
CONFLICT = {
    "version": 3, "verdict": "not storable", "family": "full", "about": "{}", "inputs": [[1.0, 0.1], [3.0, 0.3]],
    "outputs": [[1.0, 0.0], [0.0, 1.0]], "targets": [0, 1], "multipliers": [[0.0, 3.0], [1.0, 0.0]],
}  # fmt: skip
STORED = CONFLICT | {"verdict": "storable", "inputs": [[1.0, 0.0], [0.0, 1.0]], "witness": [[1.0, 0.0], [0.0, 1.0]]}
del STORED["multipliers"]


def test_it_is_one_short_file_that_imports_the_standard_library_alone():
    source = TOOL.read_text()
    assert source.count("\n") <= 250
    imported = {
        name.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import) for name in node.names
    }
    imported |= {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    assert imported <= sys.stdlib_module_names


@pytest.mark.parametrize("family", FAMILIES)
def test_proofs_of_all_families_are_accepted_and_forged_ones_refused(family, tmp_path):
    space = Given(BASIS) if family == "given" else subspace_of(family, D, seed=0)
    seen = set()
    for kind in ("original", "decoupled"):
        for p in (2, 12):
            arrays = Instance(Stream(2, D), p, kind=kind).arrays()
            verdict = loadstone.decide(arrays, family=space or "full")
            proof = tmp_path / "proof.npz"
            write_proof(proof, arrays, verdict=verdict)
            assert check_exact.main(proof) == 0
            seen.add(str(verdict.verdict))
            if verdict.witness is None:
                forged = {"multipliers": lambda old: np.where(old == old.max(), old, 0)}
            else:
                forged = {"witness": np.negative}
            assert check_exact.main(changed(proof, tmp_path, **forged)) == 1
    assert seen == {"storable", "not storable"}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_file_made_from_the_page_is_accepted_by_both_checkers(method, tmp_path):
    for contents in (CONFLICT | {"inputs": [[1.0, 0.5], [3.0, 1.5]]}, STORED):
        path = by_hand(tmp_path / "hand.npz", method, **contents)
        assert check_exact.main(path) == 0 and check_proof(path).valid


def test_nothing_is_rounded(tmp_path, capsys):
    """0.3 is not three times 0.1 in float64, so the instance is storable, by margins of some 1e-17."""
    path = by_hand(tmp_path / "near.npz", **CONFLICT)
    assert check_exact.main(path) == 1 and not check_proof(path).valid
    assert 0.3 != 3 * 0.1
    witness = {"verdict": "storable", "witness": [[0.3, -3.0], [0.0, 0.0]]}
    # Margins of (0.3 e_1 - 3 e_2) . e: 0.3 - 3 * 0.1 for the first input and 0.3 * 3 - 3 * 0.3 = 0 for the second.
    stored = {name: value for name, value in CONFLICT.items() if name != "multipliers"} | witness
    assert check_exact.main(by_hand(tmp_path / "zero.npz", **stored)) == 1
    assert "the margin of input" in capsys.readouterr().out


@pytest.mark.parametrize("small", [1e-15, 1e-30, 1e-100])
def test_an_instance_that_is_storable_by_little_is_never_certified(small, tmp_path):
    """The second input points elsewhere by so little; any multipliers leave a remainder of that size."""
    contents = CONFLICT | {"inputs": [[1.0, 0.0], [3.0, small]]}
    assert check_exact.main(by_hand(tmp_path / "no.npz", **contents)) == 1
    stored = {name: value for name, value in contents.items() if name != "multipliers"}
    # W e = (a, 0) with a = 1 for the first input and -1 for the second.
    stored |= {"verdict": "storable", "witness": [[1.0, -4.0 / small], [0.0, 0.0]]}
    assert check_exact.main(by_hand(tmp_path / "yes.npz", **stored)) == 0


def test_rectangular_matrices(tmp_path):
    """Three numbers in, two out; and masks and bases of that shape."""
    inputs, mask = [[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]], [[True, True, False], [True, False, True]]
    stored = STORED | {"inputs": inputs, "witness": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]}
    assert check_exact.main(by_hand(tmp_path / "yes.npz", **stored)) == 0
    masked = stored | {"family": "masked", "mask": mask, "witness": [[1.0, -1.0, 9.0], [0.0, 9.0, 0.0]]}
    assert check_exact.main(by_hand(tmp_path / "masked.npz", **masked)) == 0
    given = stored | {"family": "given", "basis": [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]}
    assert check_exact.main(by_hand(tmp_path / "given.npz", **given)) == 0
    none = CONFLICT | {"inputs": [[1.0, 0.0, 2.0], [3.0, 0.0, 6.0]]}
    assert check_exact.main(by_hand(tmp_path / "no.npz", **none)) == 0
    assert check_exact.main(by_hand(tmp_path / "square.npz", **stored | {"family": "symmetric"})) == 1


FORGED = {
    "a negative multiplier": {"multipliers": [[0.0, 3.0], [-1.0, 0.0]]},
    "none is positive": {"multipliers": [[5.0, 0.0], [0.0, 5.0]]},
    "no number": {"multipliers": [[0.0, np.nan], [1.0, 0.0]]},
    "another shape": {"multipliers": [0.0, 3.0]},
    "whole numbers": {"multipliers": [[0, 3], [1, 0]]},
    "both": {"witness": [[1.0, 0.0], [0.0, 1.0]]},
    "no target": {"targets": [0, 2]},
    "a target before the first": {"targets": [-1, 1]},
    "one output": {"outputs": [[1.0, 0.0]]},
    "outputs of another length": {"outputs": [[1.0], [0.0]], "family": "diagonal"},
    "outputs of other inputs": {"outputs": np.ones((3, 2, 2))},
    "no inputs": {"inputs": np.ones((0, 2)), "targets": np.ones(0, int)},
    "no such family": {"family": "blocks:3"},
    "a sign": {"family": "blocks:+2"},
    "no mask": {"family": "masked"},
    "a mask too many": {"mask": [[True, True], [True, True]]},
    "a mask of numbers": {"family": "masked", "mask": [[1.0, 1.0], [1.0, 1.0]]},
    "a basis of vectors": {"family": "given", "basis": [1.0, 1.0]},
    "too many matrices": {"family": "given", "basis": np.ones((5, 2, 2))},
    "a family of number 7": {"family": 7},
    "a verdict of number 7": {"verdict": 7},
    "undecided": {"verdict": "undecided"},
    "version 2": {"version": 2},
    "version 3.0": {"version": 3.0},
    "an array too many": {"margin": 1.0},
}


@pytest.mark.parametrize("what", FORGED)
def test_what_the_page_forbids_is_refused(what, tmp_path, capsys):
    good = CONFLICT | {"inputs": [[1.0, 0.5], [3.0, 1.5]]}
    path = by_hand(tmp_path / "forged.npz", **good | FORGED[what])
    assert check_exact.main(path) == 1
    said = capsys.readouterr().out
    assert said.startswith("NOT valid: ") and said.count("\n") == 1


def test_damaged_and_hostile_files_are_refused(tmp_path):
    good = by_hand(tmp_path / "good.npz", **STORED).read_bytes()
    bad = tmp_path / "bad.npz"
    for length in range(0, len(good), 37):
        bad.write_bytes(good[:length])
        assert check_exact.main(bad) == 1
    for place in range(0, len(good), 11):
        bad.write_bytes(good[:place] + bytes([good[place] ^ 0x10]) + good[place + 1 :])
        assert check_exact.main(bad) in (0, 1)  # dates in the archive mean nothing
    replaced = [(b"(2, 2)", b"(9**9)"), (b"False", b"True "), (b"<f8", b"|O8"), (b"{'descr'", b"exit(3):")]
    for old, new in (*replaced, (b"(2, 2)", b"(2,-2)")):
        bad.write_bytes(good.replace(old, new))
        assert len(old) == len(new) and check_exact.main(bad) == 1
    with zipfile.ZipFile(bad, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("inputs.npy", _member("<f8", (1, 2), bytes(16)))
    assert check_exact.main(bad) == 1


def test_a_member_that_unpacks_to_more_than_it_states_takes_no_memory(tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inputs.npy", bytes(2**26))
    small = path.read_bytes().replace(struct.pack("<I", 2**26), struct.pack("<I", 64))
    path.write_bytes(small)
    assert len(small) < 2**17
    tracemalloc.start()
    assert check_exact.main(path) == 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20


def test_exit_codes_of_the_command(tmp_path):
    run = lambda *arguments: subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True)  # noqa: E731
    done = run(by_hand(tmp_path / "good.npz", **STORED))
    assert done.returncode == 0 and done.stdout == (
        "valid: storable. In exact arithmetic every margin is positive; the family is 'full'.\n"
    )
    for wrong in ((), (tmp_path / "none.npz",), (tmp_path,)):
        done = run(*wrong)
        assert done.returncode == 2 and not done.stdout and "python check_exact.py proof.npz" in done.stderr


@pytest.mark.parametrize("large", [
    {"inputs": np.ones((2, 9)), "outputs": np.ones((2, 9)), "witness": np.ones((9, 9))},
    {"inputs": np.ones((3000, 2)), "targets": np.zeros(3000, int)},
    {"inputs": [[1.0, 1e-200], [0.0, 1.0]]},
    {"about": "x" * 2**23},
])  # fmt: skip
def test_large_proofs_are_not_judged(large, tmp_path, capsys):
    assert check_exact.main(by_hand(tmp_path / "large.npz", **STORED | large)) == 3
    assert capsys.readouterr().out.startswith("not judged: ")


def test_arrays_whose_columns_lie_together_are_written_by_rows(tmp_path):
    """The format has one order only."""
    columns_first = Arrays(
        np.asfortranarray(np.eye(3)), np.asfortranarray(np.arange(9.0).reshape(3, 3) ** 2), np.arange(3)
    )
    for family in ("full", "diagonal"):
        verdict = loadstone.decide(columns_first, family=family)
        write_proof(tmp_path / "proof.npz", columns_first, verdict=verdict)
        assert check_exact.main(tmp_path / "proof.npz") == 0
        assert json.loads(str(np.load(tmp_path / "proof.npz")["about"])) == {}
