import json
import os
import random
import struct
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from loadstone.books.vectors import read_vectors
from loadstone.files import write_whole
from loadstone.measurements.accuracy import measure
from loadstone.memories.cones import Nonnegative, PositiveSemidefinite
from loadstone.memories.families import initial_memory
from loadstone.memories.files import load_memory, save_memory
from loadstone.memories.foreign import memory
from loadstone.memories.full import Full
from loadstone.memories.low_rank import LowRank
from loadstone.memories.memory import kept
from loadstone.memories.projected import Projected
from loadstone.memories.recall import recall_index
from loadstone.memories.rounding import Rounded
from loadstone.memories.subspaces.given import Given
from loadstone.memories.subspaces.masked import Blocks, Diagonal, Masked
from loadstone.memories.subspaces.patterned import Circulant, Skew, Symmetric, Traceless
from loadstone.problems.facts import facts
from loadstone.problems.original import original
from loadstone.solvers.solve import solve
from loadstone.streams.stream import Stream


@pytest.mark.parametrize("kappa", [1.0, 0.5])
def test_a_saved_memory_loads_back_and_recalls(tmp_path, kappa):
    problem = original(Stream(0, 20), 30)
    solution = solve(problem, initial_memory(20, kappa, seed=0))
    save_memory(tmp_path / "memory.safetensors", solution.memory, about={"seed": 0, "kappa": kappa})
    loaded = load_memory(tmp_path / "memory.safetensors")
    assert (np.asarray(loaded.matrix()) == np.asarray(solution.memory.matrix())).all()
    assert measure(problem, loaded) == measure(problem, solution.memory)
    assert recall_index(loaded, problem.inputs, outputs=problem.outputs).tolist() == list(range(30))
    with safe_open(tmp_path / "memory.safetensors", framework="numpy") as file:
        family = "full" if kappa == 1 else "low rank"
        about = {"seed": "0", "kappa": str(kappa)}
        metadata = file.metadata()
    assert len(metadata.pop("loadstone checksum")) == 64
    assert metadata == {"format": "loadstone memory 2", "family": family} | about


SUBSPACES = {
    "symmetric": Symmetric(), "traceless": Traceless(), "skew": Skew(), "circulant": Circulant(), "blocks": Blocks(7),
    "diagonal": Diagonal(), "masked": Masked(np.random.default_rng(1).random((7, 7)) < 0.6),
    "given": Given(np.random.default_rng(2).standard_normal((5, 7, 7))),
}  # fmt: skip
KINDS = {name: partial(Projected.made, subspace=subspace) for name, subspace in SUBSPACES.items()} | {
    "full": Full,
    "low rank": lambda weights: LowRank(weights[:, :3], weights[:, 3:6]),
    "psd": PositiveSemidefinite,
    "nonnegative": Nonnegative,
    "rounded": lambda weights: Rounded(weights, 3),
}


@pytest.mark.parametrize("library", ["numpy", "numpy in 64 bits", "jax", "jax in 64 bits"])
@pytest.mark.parametrize("name", KINDS)
def test_w_is_the_same_to_the_last_bit_when_it_is_loaded(tmp_path, name, library):
    with jax.enable_x64("jax in 64" in library):
        dtype = np.float64 if "64" in library else np.float32
        weights = np.random.default_rng(0).standard_normal((7, 7)).astype(dtype)
        saved = KINDS[name](jnp.asarray(weights) if "jax" in library else weights)
        save_memory(tmp_path / "memory.safetensors", saved)
        loaded = load_memory(tmp_path / "memory.safetensors")
        before, after = saved.matrix(), loaded.matrix()
        assert before.dtype == after.dtype == dtype or name == "rounded"
        np.testing.assert_array_equal(np.asarray(before), np.asarray(after))
        assert isinstance(before, np.ndarray) == isinstance(after, np.ndarray) or name == "rounded"


@pytest.mark.parametrize("number", [2**31, 3_000_000_001, -(2**40) - 1, 2**62])
def test_whole_numbers_of_more_than_31_bits_keep_their_value(number):
    array = np.array([[number, 0], [0, number]])
    assert np.asarray(kept(array)).tolist() == array.tolist()
    whole = memory({"w": np.eye(2, dtype=np.float32), "n": array}, lambda it, inputs: inputs @ (it["w"] * it["n"]).T)
    assert measure(facts(np.eye(2), np.sign(number) * np.eye(2)), whole).margin == pytest.approx(abs(number))


@pytest.mark.parametrize("weights, why", [
    (np.ones((2, 2), np.longdouble), "a file can hold"), (np.ones((2, 2), complex), "a file can hold"),
    (np.array([["a", "b"], ["c", "d"]]), "one that a file can hold"), (None, "one that a file can hold"),
    (np.ma.masked_array(np.eye(2), np.eye(2)), "whose arrays are not masked"), ([[1], [2, 3]], "one of arrays"),
])  # fmt: skip
def test_what_no_file_can_hold_is_refused(tmp_path, weights, why):
    with pytest.raises(ValueError, match=f"memory is .*{why}") as refused:
        save_memory(tmp_path / "memory.safetensors", Full(weights))
    assert "\n" not in str(refused.value) and not list(tmp_path.iterdir())


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "memory.safetensors"
    save_memory(path, initial_memory(5, 1.0, seed=0))
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    with pytest.raises(ValueError, match="memory file is .* safetensors file"):
        load_memory(path)
    save_file({"other": np.zeros((2, 2))}, path)
    with pytest.raises(ValueError, match="the arrays of a known family"):
        load_memory(path)
    with pytest.raises(FileNotFoundError):
        load_memory(tmp_path / "missing.safetensors")


def test_a_memory_with_a_changed_bit_is_refused_and_one_without_a_checksum_loads(tmp_path):
    path, chance = tmp_path / "memory.safetensors", random.Random(0)
    save_memory(path, Full(np.eye(3)), about={"seed": 0})
    whole = path.read_bytes()
    for bit in [8 * (len(whole) - 1), *chance.sample(range(8 * len(whole)), 60)]:
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(ValueError, match="memory file is "):
            load_memory(path)
    for metadata in ({"format": "loadstone memory 1", "family": "full"}, {"format": "pt"}):
        save_file({"weights": np.eye(3)}, path, metadata)
        assert np.array_equal(load_memory(path).matrix(), np.eye(3))
    save_file({"weights": np.eye(3)}, path, {"format": "loadstone memory 2", "family": "full"})
    with pytest.raises(ValueError, match="must be undamaged .it has no checksum"):
        load_memory(path)


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    path = tmp_path / "memory.safetensors"
    save_memory(path, initial_memory(5, 1.0, seed=0))
    before = path.read_bytes()

    def full_disk(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save_memory(path, initial_memory(5, 1.0, seed=1))
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_device_is_not_replaced_by_a_file():
    with pytest.raises(FileExistsError, match="/dev/null is a device or a pipe, not a plain file"):
        write_whole("/dev/null", lambda file: file.write(b"x"))
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("arrays", [
    {"weights": (2, 3)}, {"weights": (4,)}, {"weights": (2, 2, 2)}, {"weights": (0, 0)},
    {"left": (5, 2), "right": (4, 2)}, {"left": (5, 2), "right": (5, 3)}, {"left": (5,), "right": (5,)},
])  # fmt: skip
def test_arrays_that_make_no_square_memory_are_refused(arrays, tmp_path):
    """The names are those of a family, so only the shapes tell; any other place would fail late and obscurely."""
    path = tmp_path / "memory.safetensors"
    save_file({name: np.zeros(shape, np.float32) for name, shape in arrays.items()}, path)
    with pytest.raises(ValueError, match="memory file is .* one whose arrays make a d x d memory"):
        load_memory(path)
    memory = (Full if len(arrays) == 1 else LowRank)(*(jnp.zeros(shape) for shape in arrays.values()))
    with pytest.raises(ValueError, match="memory is .* one whose arrays make a d x d memory"):
        save_memory(tmp_path / "never.safetensors", memory)
    assert list(tmp_path.iterdir()) == [path]


def test_arrays_in_another_order_are_saved_as_what_they_hold(tmp_path):
    weights = np.arange(9.0, dtype=np.float32).reshape(3, 3)
    for one in (
        Full(weights.T),
        Full(np.arange(81.0).reshape(9, 9)[::3, ::3]),
        LowRank(weights[:, :2], weights.T[:, :2]),
    ):
        save_memory(tmp_path / "memory.safetensors", one)
        again = load_memory(tmp_path / "memory.safetensors")
        np.testing.assert_array_equal(again.matrix(), one.matrix())
        assert again.matrix().dtype == one.matrix().dtype  # float64 stays


@pytest.mark.parametrize("inputs, outputs, sentence", [
    (np.ones(3), np.ones((2, 3)), r"^inputs.shape is \(3,\), but must be two sizes of at least 1"),
    (np.ones((0, 3)), np.ones((2, 3)), r"^inputs.shape is \(0, 3\), but must be two sizes of at least 1"),
    (np.ones((2, 3)), np.ones(3), r"^outputs.shape is \(3,\), but must be two sizes of at least 1"),
    (np.ones((2, 3)), np.ones((0, 3)), r"^outputs.shape is \(0, 3\), but must be two sizes of at least 1"),
    (np.ones((2, 3)), np.ones((5, 4)), r"^outputs.shape is \(5, 4\), but must be \(m, 3\), to go with"),
    (np.ones((2, 4)), np.ones((5, 3)), r"^inputs.shape is \(2, 4\), but must be \(n, 3\), because"),
])  # fmt: skip
def test_what_cannot_be_recalled_is_refused(inputs, outputs, sentence):
    with pytest.raises(ValueError, match=sentence):
        recall_index(Full(jnp.eye(3)), inputs, outputs=outputs)


def test_a_memory_of_float64_numbers_recalls_in_float64():
    outputs = np.array([[1.0], [1 + 1e-12], [1 - 1e-12]])
    assert recall_index(Full(np.eye(1)), np.ones((2, 1)), outputs=outputs).tolist() == [1, 1]
    assert recall_index(Full(jnp.eye(1)), np.ones((1, 1)), outputs=outputs).tolist() == [0]  # in float32 all are equal


def tensors(kind, size, shape=(2, 2)):
    """A safetensors file of zeros."""
    described = {"dtype": kind, "shape": shape, "data_offsets": [0, size]}
    header = json.dumps({"__metadata__": {"family": "full"}, "weights": described}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(size)


@pytest.mark.parametrize("kind, size, shape, sentence", [
    ("F8_E4M3", 4, (2, 2), "'weights' in it has numbers of type F8_E4M3, which NumPy does not have"),
    ("F8_E5M2", 4, (2, 2), "has numbers of type F8_E5M2"), ("F4", 2, (2, 2), "has numbers of type F4"),
    ("F6_E2M3", 3, (2, 2), "F6_E2M3"), ("X9", 4, (2, 2), "unknown variant"),
    ("F32", 4, (2**40, 2**40), "overflow"), ("F32", 0, (0, 2**62), "array is too big"),
    ("C64", 32, (2, 2), "its weights are complex"),
])  # fmt: skip
def test_numbers_of_strange_types_and_sizes_are_refused_in_a_sentence(kind, size, shape, sentence, tmp_path):
    path = tmp_path / "memory.safetensors"
    path.write_bytes(tensors(kind, size, shape))
    (tmp_path / "memory.txt").write_text("a\nb\n")
    with pytest.raises(ValueError, match=f"memory file is '{path}', but must be .*{sentence}"):
        load_memory(path)
    if kind != "C64":
        with pytest.raises(ValueError, match=f"vectors is '{path}', but must be .*{sentence}"):
            read_vectors(path, {"a"})
