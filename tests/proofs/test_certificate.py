"""Proofs that are damaged, tampered with or about something else are refused, with the reason."""

import ast
import re
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from loadstone import parameters
from loadstone.memories.subspaces import registry
from loadstone.problems import archive, instance_files
from loadstone.problems import arrays as arrays_module
from loadstone.problems.archive import read_archive
from loadstone.problems.arrays import Arrays
from loadstone.problems.facts import facts
from loadstone.problems.instance import Instance
from loadstone.proofs import certificate
from loadstone.proofs.certificate import _CONTENTS, check_proof, write_proof
from loadstone.proofs.verdict import Outcome, Verdict
from loadstone.solvers.decide import ProofLimits, decide
from loadstone.streams.stream import Stream
from tests.proofs.tampered import changed


@pytest.fixture(scope="module")
def proofs(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("proofs"), {}
    for name, p in (("storable", 28), ("not storable", 50)):
        arrays = Instance(Stream(0, 12), p).arrays()
        found = decide(arrays)
        assert found.verdict == name
        made[name] = folder / f"{name}.npz"
        write_proof(made[name], arrays, verdict=found, about={"seed": 0})
    return made


def set_entry(place, value):
    def change(array):
        array[place] = value(array[place]) if callable(value) else value
        return array

    return change


def test_the_checker_says_what_is_proved(proofs):
    storable, not_storable = check_proof(proofs["storable"]), check_proof(proofs["not storable"])
    assert storable.valid and storable.verdict is Outcome.STORABLE and storable.remainder is None
    assert not_storable.valid and not_storable.verdict is Outcome.NOT_STORABLE
    assert not_storable.margin is None and not_storable.remainder is None
    assert "\n" not in repr(storable) and "storable" in repr(storable)
    said = re.fullmatch(
        r"The witness stores every association: at unit norm each margin is above (\S+)\.", storable.reason
    )
    # Rounded so that it stays true.
    assert 0.99 * storable.margin < float(said[1]) <= storable.margin
    assert not_storable.reason == "No W stores every association."


def test_a_tie_is_called_one(tmp_path):
    arrays = Arrays(np.eye(2), np.ones((2, 2)), np.arange(2))
    write_proof(tmp_path / "tie.npz", arrays, verdict=decide(arrays))
    found = check_proof(tmp_path / "tie.npz")
    assert found.valid and found.reason == "A rival ties with its target under every W."


def test_margins_below_every_float_are_proved_all_the_same(tmp_path):
    arrays = Arrays(np.eye(2) * 1e-170, np.eye(2) * 1e-170, np.arange(2))
    write_proof(tmp_path / "small.npz", arrays, verdict=decide(arrays))
    found = check_proof(tmp_path / "small.npz")
    assert found.valid and found.verdict == "storable" and found.margin == 0


#: Two questions that differ by 10^-15, with different answers: storable.
CLOSE = Arrays(np.array([[1.0, 0.0], [1.0, 1e-15]]), np.eye(2), np.arange(2))


def test_a_witness_with_tiny_margins_counts(tmp_path):
    witness = np.array([[5e-16, -1.0], [-5e-16, 1.0]])
    verdict = Verdict(Outcome.STORABLE, 0, 0, 0, 0.0, witness=witness)
    write_proof(tmp_path / "small.npz", CLOSE, verdict=verdict)
    found = check_proof(tmp_path / "small.npz")
    assert found.valid and 0 < found.margin < 1e-15


def former(proof, tmp_path, **changes):
    """A proof as version 1 wrote it."""
    return changed(proof, tmp_path, version=1, family=None, **changes)


def test_files_of_version_1_say_what_they_prove(proofs, tmp_path):
    margin = check_proof(proofs["storable"]).margin
    assert check_proof(former(proofs["storable"], tmp_path, margin=margin)).valid
    assert not check_proof(former(proofs["storable"], tmp_path, margin=1.01 * margin)).valid
    whole = check_proof(former(proofs["not storable"], tmp_path, bound=1e-12))
    assert whole.valid and whole.remainder is None and whole.reason == "No W stores every association."
    assert "not the stated 1e-30" in check_proof(former(proofs["not storable"], tmp_path, bound=1e-30)).reason
    assert "the stated bound is missing" in check_proof(former(proofs["not storable"], tmp_path)).reason


def test_files_of_version_1_may_leave_a_remainder_and_say_so(tmp_path):
    multipliers = np.array([[0.0, 1.0], [1.0, 0.0]])
    verdict = Verdict(Outcome.NOT_STORABLE, 0, 0, 0, 0.0, certificate=multipliers)
    write_proof(tmp_path / "close.npz", CLOSE, verdict=verdict)
    assert "do not prove that no W is left" in check_proof(tmp_path / "close.npz").reason
    found = check_proof(former(tmp_path / "close.npz", tmp_path, bound=1e-14))
    assert found.valid and found.verdict == "not storable" and 0 < found.remainder < 1e-13
    said = re.fullmatch(
        r"No W has all margins above (\S+) of the largest that they can be; "
        r"a W whose margins are all positive but smaller is not excluded\.",
        found.reason,
    )
    assert found.remainder <= float(said[1]) < 1.01 * found.remainder


CHANGES = [
    ("not storable", {"multipliers": set_entry((3, 4), -1e-9)}, r"multiplier \(3, 4\) is negative"),
    ("not storable", {"multipliers": set_entry((3, 4), lambda x: x + 1e3)}, "do not prove that no W is left"),
    ("not storable", {"multipliers": lambda x: 0 * x}, "do not prove that no W is left"),
    ("not storable", {"multipliers": set_entry((0, 1), np.nan)}, "not all finite"),
    ("not storable", {"multipliers": lambda x: x[:-1]}, "not float64 of shape"),
    ("not storable", {"multipliers": lambda x: x.astype(np.float32)}, "not float64 of shape"),
    ("not storable", {"multipliers": lambda x: x + 1.0}, "do not prove that no W is left"),
    ("not storable", {"bound": 1.0, "family": None}, "the file lacks family"),
    ("not storable", {"inputs": set_entry((0, 0), lambda x: x + 1e3)}, "do not prove that no W is left"),
    ("not storable", {"verdict": lambda x: "storable"}, "holds multipliers, which no proof of its verdict"),
    ("not storable", {"verdict": lambda x: "undecided"}, "its verdict is 'undecided'"),
    ("storable", {"witness": set_entry((2, 3), lambda x: -x - 1)}, "margin"),
    ("storable", {"witness": lambda x: 0 * x}, "the witness is zero"),
    ("storable", {"extra": lambda x: 1.0}, "holds extra, which no proof does"),
    ("storable", {"margin": 1e9}, "holds margin, which no proof of its verdict"),
    ("storable", {"multipliers": np.ones((28, 28))}, "holds multipliers, which no proof of its verdict"),
    ("not storable", {"bound": -1.0}, "holds bound, which no proof of its verdict"),
    ("not storable", {"witness": np.eye(12)}, "holds witness, which no proof of its verdict"),
    ("storable", {"outputs": lambda x: x[::-1]}, "margin"),
    ("storable", {"targets": lambda x: x[::-1]}, "margin"),
    ("storable", {"targets": lambda x: x + 1000}, "its instance is not one"),
    ("storable", {"targets": lambda x: x.astype(float)}, "its instance is not one: targets is .*whole numbers"),
    ("storable", {"outputs": lambda x: x.astype(np.float16)}, "outputs are float16"),
    ("storable", {"inputs": set_entry((0, 0), np.inf)}, "its instance is not one"),
    ("storable", {"version": lambda x: x + 1}, "its version is 4"),
    ("storable", {"outputs": None}, "lacks outputs"),
    ("storable", {"checksum": None}, "lacks checksum"),
]


@pytest.mark.parametrize("name, changes, reason", CHANGES)
def test_a_changed_proof_is_refused_even_if_its_checksum_was_made_to_fit(proofs, tmp_path, name, changes, reason):
    found = check_proof(changed(proofs[name], tmp_path, **changes))
    assert not found.valid and re.search(reason, found.reason), found.reason


@pytest.mark.parametrize(
    "name, array", [("storable", "witness"), ("not storable", "multipliers"), ("storable", "inputs")]
)
def test_any_change_without_a_new_checksum_is_seen(proofs, tmp_path, name, array):
    path = changed(proofs[name], tmp_path, sign=False, **{array: set_entry((0, 1), lambda x: x * (1 + 1e-6) + 1e-12)})
    found = check_proof(path)
    assert not found.valid and "do not match their checksum" in found.reason


def test_a_truncated_file_and_one_of_another_kind_are_refused(proofs, tmp_path):
    content, path = proofs["not storable"].read_bytes(), tmp_path / "short.npz"
    for part in (b"", b"no proof", *(content[: int(share * len(content))] for share in (0.1, 0.5, 0.9, 0.999))):
        path.write_bytes(part)
        found = check_proof(path)
        assert not found.valid and "damaged or not a proof" in found.reason
    with pytest.raises(FileNotFoundError, match="is not a file"):
        check_proof(tmp_path / "nothing.npz")


def test_single_flipped_bytes_are_seen(proofs, tmp_path):
    content = bytearray(proofs["storable"].read_bytes())
    before, _ = read_archive(proofs["storable"], _CONTENTS)
    path = tmp_path / "flipped.npz"
    refused = 0
    for position in range(100, len(content), len(content) // 40):
        flipped = bytearray(content)
        flipped[position] ^= 0x10
        path.write_bytes(flipped)
        if not check_proof(path).valid:
            refused += 1
            continue
        # A date in the archive, say, may change nothing that is read: then all that is read is intact.
        after, _ = read_archive(path, _CONTENTS)
        assert after.keys() == before.keys()
        for name, array in before.items():
            assert array.dtype == after[name].dtype and (array == after[name]).all(), (position, name)
    assert refused > 30


def test_flipped_bytes_within_the_arrays_are_never_accepted(proofs, tmp_path):
    """Every one of them is guarded by the archive's sums and by the checksum."""
    for proof in proofs.values():
        content = bytearray(proof.read_bytes())
        with zipfile.ZipFile(proof) as archive:
            sizes = {member.filename: member.file_size for member in archive.infolist()}
            starts = {member.filename: member.header_offset + 30 + 20 for member in archive.infolist()}
        for name in ("inputs.npy", "outputs.npy", "targets.npy", "checksum.npy"):
            # Past the local header and the array's own, of 128 bytes.
            first = starts[name] + len(name) + 128
            for position in range(first, first + sizes[name] - 128, max(1, sizes[name] // 7)):
                flipped = bytearray(content)
                flipped[position] ^= 0x01
                (tmp_path / "flipped.npz").write_bytes(flipped)
                assert not check_proof(tmp_path / "flipped.npz").valid, (name, position)


def test_archives_that_are_strange_are_refused_without_a_traceback(proofs, tmp_path):
    path = tmp_path / "strange.npz"
    np.save(tmp_path / "single.npy", np.ones(3))
    path.write_bytes((tmp_path / "single.npy").read_bytes())
    assert "single array" in check_proof(path).reason
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("inputs.npy", b"no array")
    assert "'inputs' in it is not an array" in check_proof(path).reason
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("inputs.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f8'  ")
    assert "damaged or not a proof" in check_proof(path).reason
    with zipfile.ZipFile(proofs["storable"]) as source, zipfile.ZipFile(path, "w") as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            archive.writestr("targets.npy", source.read("targets.npy"))
    assert "the same name" in check_proof(path).reason


def test_a_proof_about_another_instance_is_refused(proofs):
    other = Instance(Stream(1, 12), 50).arrays()
    found = check_proof(proofs["not storable"], other)
    assert not found.valid and "another instance" in found.reason
    assert check_proof(proofs["not storable"], Instance(Stream(0, 12), 50).arrays()).valid


def test_a_problem_is_not_taken_for_its_exact_numbers(tmp_path):
    """Its arrays are float32: a proof of these outputs, which are 0 there, would be about others."""
    problem = facts([[1.0], [-1.0]], [[1e-60], [-1e-60]])
    found = decide(problem)
    with pytest.raises(ValueError, match="arrays is 'Facts', but must be Arrays"):
        write_proof(tmp_path / "proof.npz", problem, verdict=found)
    write_proof(tmp_path / "proof.npz", problem.arrays(), verdict=found)
    with pytest.raises(ValueError, match="instance is 'Facts', but must be Arrays"):
        check_proof(tmp_path / "proof.npz", problem)
    assert check_proof(tmp_path / "proof.npz", problem.arrays()).valid


def test_scaling_a_witness_or_multipliers_changes_nothing(proofs, tmp_path):
    assert check_proof(changed(proofs["storable"], tmp_path, witness=lambda x: 2.0**20 * x)).valid
    # A power of two, because the bound is made of rounding errors.
    assert check_proof(changed(proofs["not storable"], tmp_path, multipliers=lambda x: 2.0**20 * x)).valid


def test_an_undecided_verdict_cannot_be_written(tmp_path):
    arrays = Instance(Stream(0, 20), 88).arrays()
    with pytest.raises(ValueError, match="verdict is 'undecided', but must be storable or not storable"):
        write_proof(tmp_path / "none.npz", arrays, verdict=decide(arrays, ProofLimits(steps=1)))
    assert not list(tmp_path.iterdir())


def test_the_checker_needs_no_solver_and_no_jax():
    """It imports no solver and no JAX, directly or through its own modules."""
    files = [Path(module.__file__) for module in (arrays_module, archive, parameters, instance_files)]
    proofs = [file for file in Path(certificate.__file__).parent.glob("*.py") if file.name != "streamed.py"]
    for module in (*files, *proofs, *Path(registry.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(module.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert name.split(".")[0] != "jax", (module, name)
                allowed = "arguments families_text files free_memory given_arrays parameters readable threads".split()
                allowed += ["problems.arrays", "problems.archive", "whitening"]
                if name.startswith("loadstone.proofs."):
                    continue
                ours = name.startswith("loadstone") and not name.startswith("loadstone.memories.subspaces.")
                assert not ours or name.removeprefix("loadstone.") in allowed, (module, name)
