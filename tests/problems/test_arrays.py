"""Instances: what is kept to the last bit, and what is refused with a sentence of our own."""

import io
import re
import warnings
import zipfile

import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.problems.arrays import Arrays
from loadstone.problems.instance_files import read_instance

EYE = np.eye(2)
TWO = np.arange(2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_kept_as_they_are(dtype):
    inputs, outputs = EYE.astype(dtype), np.ones((2, 3, 2), dtype)
    arrays = Arrays(inputs, outputs, np.array([0, 2], np.uint64))
    assert arrays.inputs is inputs and arrays.outputs is outputs
    assert arrays.targets.dtype == np.int64 and arrays.targets.tolist() == [0, 2]
    assert arrays.decoupled and not Arrays(inputs, inputs, TWO).decoupled
    assert arrays.target_outputs.dtype == dtype and arrays.target_outputs.shape == (2, 2)


@pytest.mark.parametrize("value", [
    [[1, 2], [3, 4]], ((1.0, 2), (3, 4.0)), np.array([[1, 2], [3, 4]], np.uint8),
    np.array([[1, 2], [3, 4]], np.float16), np.array([[1, 2], [3, 4]], ">f8"),
    np.array([[1, 2], [3, 4]], np.longdouble), jnp.array([[1, 2], [3, 4]]),
])  # fmt: skip
def test_other_numbers_become_float64(value):
    arrays = Arrays(value, value, [1, 0])
    assert arrays.inputs.dtype in (np.float32, np.float64) and arrays.inputs.dtype.isnative
    assert arrays.inputs.tolist() == [[1, 2], [3, 4]] == arrays.outputs.tolist()


BAD = {
    "ragged": ([[1.0, 2.0], [3.0]], "inputs is 'a list', but must be an array of real numbers, in lists of equal"),
    "objects": (np.array([[1.0, None], [2.0, 3.0]], object), "inputs is 'object of shape (2, 2)', but must be an"),
    "complex": (EYE + 1j, "inputs is 'complex128 of shape (2, 2)', but must be an array of real numbers"),
    "booleans": (EYE > 0, "inputs is 'bool of shape (2, 2)', but must be an array of real numbers"),
    "strings": ([["a", "b"], ["c", "d"]], "inputs is '<U1 of shape (2, 2)', but must be an array of real numbers"),
    "dates": (np.zeros((2, 2), "M8[s]"), "inputs is 'datetime64[s] of shape (2, 2)'"),
    "none": (None, "inputs is 'object of shape ()', but must be an array of real numbers"),
    "nan": ([[1.0, 2.0], [np.nan, 3.0]], "inputs[1, 0] is nan, but must be finite"),
    "infinite": ([[1.0, np.inf], [0.0, 3.0]], "inputs[0, 1] is inf, but must be finite"),
    "large integer": (np.array([[1, 2**53 + 1], [3, 4]]), f"inputs[0, 1] is {2**53 + 1}, but must be a number that"),
    "large unsigned": (np.array([[1, 2**64 - 1], [3, 4]], np.uint64), f"inputs[0, 1] is {2**64 - 1}, but must be"),
    "large among fractions": ([[0.5, 2**53 + 1], [3, 4]], f"inputs[0, 1] is {2**53 + 1}, but must be a"),
    "larger than any float": ([[0.5, 10**400], [3, 4]], "inputs is"),
    "long double": (np.array([[1, np.longdouble(1) + np.finfo(np.longdouble).eps], [3, 4]]), "inputs[0, 1] is 1.0"),
    "one axis": ([1.0, 2.0], "inputs.shape is (2,), but must be (n, d) with n and d of at least 1"),
    "three axes": (np.ones((2, 2, 2)), "inputs.shape is (2, 2, 2), but must be (n, d)"),
    "no input": (np.ones((0, 2)), "inputs.shape is (0, 2), but must be (n, d)"),
    "no dimension": (np.ones((2, 0)), "inputs.shape is (2, 0), but must be (n, d)"),
    "a number": (3.0, "inputs.shape is (), but must be (n, d)"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_inputs_that_are_none_get_one_sentence(name):
    value, sentence = BAD[name]
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        Arrays(value, EYE, TWO)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_large_integers_that_float64_holds_are_taken():
    large = [2**53, -(2**53) + 1, 2**60, 2**53 - 1]
    assert Arrays(np.array(large).reshape(2, 2), EYE, TWO).inputs.ravel().tolist() == large
    assert Arrays([[0.5, 2**60], [1.0, -(2**62)]], EYE, TWO).inputs[1, 1] == -(2.0**62)


@pytest.mark.parametrize("outputs, sentence", [
    (np.ones((2, 3)), "outputs.shape is (2, 3), but must be (m, 2), or (2, m, 2) where each input has a separate set"),
    (np.ones((3, 2, 2)), "outputs.shape is (3, 2, 2)"), (np.ones(2), "outputs.shape is (2,)"),
    (np.ones((2, 2, 2, 2)), "outputs.shape is (2, 2, 2, 2)"), (np.ones((0, 2)), "at least two outputs"),
    (np.ones((1, 2)), "outputs.shape is (1, 2), but must be at least two outputs, since one has no rival"),
    (np.ones((2, 1, 2)), "at least two outputs"), (EYE * 1j, "outputs is 'complex128"),
    ([[1], [2, 3]], "outputs is 'a list'"),
])  # fmt: skip
def test_outputs_that_are_none_get_one_sentence(outputs, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Arrays(EYE, outputs, TWO)


@pytest.mark.parametrize("targets, sentence", [
    ([0.0, 1.0], "targets is 'float64 of shape (2,)', but must be 2 whole numbers, one for each input"),
    ([0], "targets is 'int64 of shape (1,)', but must be 2 whole numbers"), ([[0, 1]], "but must be 2 whole numbers"),
    ([True, False], "targets is 'bool of shape (2,)'"), (["0", "1"], "targets is '<U1"), (None, "targets is 'object"),
    ([[0], [0, 1]], "targets is 'a list'"), ([0, -1], "targets[1] is -1, but must be in 0..1, the index of an output"),
    ([2, 0], "targets[0] is 2, but must be in 0..1"),
    (np.array([0, 2**64 - 1], np.uint64), f"targets[1] is {2**64 - 1}"),
    (np.array([0, 2**32], np.int64), f"targets[1] is {2**32}"),
])  # fmt: skip
def test_targets_that_are_none_get_one_sentence(targets, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Arrays(EYE, EYE, targets)


def saved(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_an_instance_is_read_as_it_was_saved(tmp_path):
    inputs, outputs = np.asfortranarray(np.arange(6.0).reshape(3, 2)), np.ones((3, 4, 2), np.float32)
    arrays = read_instance(
        saved(tmp_path / "a.npz", inputs=inputs, outputs=outputs, targets=[3, 0, 1], more=np.ones(2))
    )
    assert (arrays.inputs == inputs).all() and arrays.outputs.dtype == np.float32
    assert arrays.targets.tolist() == [3, 0, 1]
    arrays = read_instance(saved(tmp_path / "b.npz", inputs=inputs, outputs=inputs))
    assert arrays.targets.tolist() == [0, 1, 2]
    np.savez_compressed(tmp_path / "c.npz", inputs=inputs, outputs=inputs)
    assert (read_instance(tmp_path / "c.npz").outputs == inputs).all()


FILES = {
    "csv": (b"1.0,2.0\n3.0,4.0\n", "it is text, not an archive of arrays"),
    "empty": (b"", "it is not an archive of arrays"),
    "pickle": (b"\x80\x04\x95\x10\x00", "it is not an archive of arrays"),
    "cut short": (b"PK\x03\x04 and no more", "it is a damaged archive"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_other_kinds_get_our_sentence(name, tmp_path):
    content, sentence = FILES[name]
    (tmp_path / "facts.csv").write_bytes(content)
    with pytest.raises(
        ValueError, match=f"facts.csv cannot be read as an instance: {sentence}. An instance is an .npz"
    ):
        read_instance(tmp_path / "facts.csv")


def test_a_single_array_and_a_missing_file(tmp_path):
    np.save(tmp_path / "one.npy", EYE)
    with pytest.raises(ValueError, match="it is a single array, not an archive of arrays"):
        read_instance(tmp_path / "one.npy")
    with pytest.raises(FileNotFoundError, match="nothing.npz is not a file"):
        read_instance(tmp_path / "nothing.npz")


@pytest.mark.parametrize("array, sentence", [
    (np.array([[1, None], [2, 3]], object), "'inputs' in it holds objects, not numbers"),
    (EYE + 1j, "inputs is 'complex128 of shape (2, 2)', but must be an array of real numbers"),
    (np.array([["a"]]), "inputs is '<U1 of shape (1, 1)'"), (np.array(3.0), "inputs.shape is ()"),
    (np.ones(3), "inputs.shape is (3,), but must be (n, d)"),
    (np.ones((2, 0)), "inputs.shape is (2, 0)"),
    (np.array([[2**53 + 1, 0], [0, 1]]), f"inputs[0, 0] is {2**53 + 1}, but must be a number that float64"),
])  # fmt: skip
def test_arrays_in_a_file_that_are_no_instance(array, sentence, tmp_path):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        read_instance(saved(tmp_path / "bad.npz", inputs=array, outputs=EYE))


def npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def zipped(path, members):
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")
        for name, content in members:
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("name", ["inputs", "inputs.npy"])
def test_every_array_counts_towards_the_size_limit(name, tmp_path, monkeypatch):
    """A member without .npy is an array too."""
    members = [(name, npy(np.zeros((1000, 2)))), ("outputs.npy", npy(EYE)), ("targets", npy(np.zeros(1000, np.int8)))]
    path = zipped(tmp_path / "a.npz", members)
    assert read_instance(path).inputs.shape == (1000, 2)
    needed = sum(len(content) for _, content in members)
    for free, enough in ((4 * needed, True), (4 * needed - 4, False)):
        monkeypatch.setattr("os.sysconf", lambda what, free=free: free if what == "SC_AVPHYS_PAGES" else 1)
        if enough:
            assert read_instance(path).inputs.shape == (1000, 2)
        else:
            with pytest.raises(
                ValueError, match=f"its arrays take {needed} bytes, more than a quarter of the free memory"
            ):
                read_instance(path)


def test_damaged_members_are_named(tmp_path):
    path, good = tmp_path / "a.npz", npy(EYE)
    for content, sentence in (
        (b"no array", "'inputs' in it is not an array"),
        (good[:-1], "'inputs' in it is damaged: its size is not that of its shape"),
        (good.replace(b"(2, 2)", b"(9**9**9, 2)"), "'inputs' in it is damaged"),
        # A shape of 16 EB must be refused before it is allocated.
        (good.replace(b"(2, 2), }" + 18 * b" ", b"(1" + 18 * b"0" + b", 2), }"), "its size is not that of its shape"),
        (good[:6] + b"\x09\x00" + good[8:], "'inputs' in it is damaged"),
    ):
        zipped(path, [("inputs.npy", content), ("outputs.npy", good)])
        with pytest.raises(ValueError, match=re.escape(sentence)):
            read_instance(path)
    zipped(path, [("inputs.npy", good), ("inputs", good), ("outputs.npy", good)])
    with pytest.raises(ValueError, match="two of its arrays have the same name"):
        read_instance(path)


def test_a_lack_of_memory_is_not_called_damage(tmp_path, monkeypatch):
    def full(*_):
        raise MemoryError

    np.savez(tmp_path / "a.npz", inputs=EYE, outputs=EYE)
    monkeypatch.setattr(zipfile.ZipFile, "open", full)
    with pytest.raises(MemoryError):
        read_instance(tmp_path / "a.npz")
