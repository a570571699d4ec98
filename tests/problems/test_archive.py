"""Arrays from hostile files: one sentence, and no memory for what a file only states."""

import io
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

import loadstone
from loadstone.problems.archive import read_archive, read_npy

BODY = np.arange(4.0).tobytes()


def npy(header, body=BODY, version=(1, 0)):
    """An .npy of any header, which `array` describes in NumPy's way."""
    length = struct.pack("<H" if version == (1, 0) else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + length + header.encode("latin1") + body


def header(descr="'<f8'", order="False", shape="(2, 2)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def nested(start, end):
    return f"{{'descr': '<f8', 'fortran_order': False, 'shape': {start}{end}, }}\n"


HOSTILE = {
    "huge": npy(header(shape="(4611686018427387904, 4611686018427387904)")),
    "terabytes": npy(header(shape="(1000000000000, 2)")),
    "a length of 5000 digits": npy(header(shape=f"({'9' * 5000}, 1)")),
    "negative": npy(header(shape="(-2, -2)")),
    "truth": npy(header(shape="(True, 5)")),
    "objects": npy(header(descr="'|O'")),
    "objects in fields": npy(header(descr="[('a', 'O')]")),
    "fields": npy(header(descr="[('a', '<f8'), ('b', '<f8')]", shape="(2,)")),
    "dates": npy(header(descr="'<M8[s]'")),
    "unknown type": npy(header(descr="'nonsense'")),
    "nested type": npy(header(descr="[" * 80 + "]" * 80)),
    "parentheses": npy(nested("(" * 500, ")" * 500)),
    "brackets": npy(nested("[" * 90, "]" * 90)),
    "signs": npy("-" * 9000 + "1\n"),
    "blanks": npy(" " * 60_000 + "\n"),
    "megabytes of header": npy(" " * 2_000_000 + "\n", version=(2, 0)),
    "later version": npy(header(), version=(9, 0)),
    "set": npy("{1, 2}\n"),
    "unfinished": npy("{'descr'"),
    "zeros": npy("\0" * 50),
    "too short": npy(header(), BODY[:-1]),
    "too long": npy(header(), BODY + b"\0"),
    "empty words": npy(header(descr="'<U0'", shape="(1099511627776,)"), b""),
    "empty rows": npy(header(shape="(1099511627776, 0)"), b""),
    "nothing": b"",
    "magic": b"\x93NUMPY",
    "half a header": npy(header(), b"")[:30],
    "pickle": b"\x80\x04K\x01.",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_array_is_refused_in_a_sentence(content, tmp_path):
    (tmp_path / "a.npy").write_bytes(content)
    for mapped in (False, True):
        with pytest.raises(ValueError, match="^it (is|holds) "):
            read_npy(tmp_path / "a.npy", mapped=mapped)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
            archive.writestr("inputs.npy", content)
        with pytest.raises(ValueError, match="^'inputs' in it (is|holds) "):
            read_archive(tmp_path / "a.npz", ["inputs"])


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("array", [
    np.arange(6.0).reshape(2, 3), np.arange(6, dtype=np.int8).reshape(2, 3).T, np.array(["a", "bc"]), np.array(2.5),
    np.empty((0, 3), np.float32), np.array([True, False]), np.array([1 + 2j]),
], ids=repr)  # fmt: skip
def test_arrays_are_read_as_numpy_wrote_them(array, mapped, tmp_path):
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", a=array, b=array)
    np.savez_compressed(tmp_path / "b.npz", a=array)
    first, others = read_archive(tmp_path / "a.npz", ["a"])
    second, none = read_archive(tmp_path / "b.npz", ["a", "b"])
    assert (others, none) == ({"b"}, set())
    for read in (first["a"], second["a"], read_npy(tmp_path / "a.npy", mapped=mapped)):
        assert read.dtype == array.dtype
        np.testing.assert_array_equal(read, array)


#: The most that deflate can shorten, and the two methods that can do far more.
@pytest.mark.parametrize("method, readable", [
    (zipfile.ZIP_DEFLATED, True), (zipfile.ZIP_BZIP2, False), (zipfile.ZIP_LZMA, False),
])  # fmt: skip
def test_only_stored_and_deflated_arrays_are_read(method, readable, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        archive.writestr("a.npy", npy(header(shape="(3000000,)"), bytes(24_000_000)))
    if readable:
        assert read_archive(tmp_path / "a.npz", ["a"])[0]["a"].shape == (3_000_000,)
        return
    with pytest.raises(ValueError, match="'a' in it is compressed in a way that NumPy does not use"):
        read_archive(tmp_path / "a.npz", ["a"])


def test_no_other_reader_of_arrays_is_used():
    """NumPy's own expands whatever it is given, and lets errors of the parser through."""
    for file in Path(loadstone.__file__).parent.rglob("*.py"):
        assert "np.load(" not in file.read_text(), file


def member_states(content, sizes):
    """A zip of one deflated array whose directory and local header state other sizes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", content)
        member = archive.getinfo("a.npy")
    before = struct.pack("<LL", member.compress_size, member.file_size)
    return packed.getvalue().replace(before, struct.pack("<LL", *sizes(member)))


@pytest.mark.parametrize("sizes, sentence", [
    (lambda member: (member.compress_size, 10**9), "'a' in it is damaged: .* bytes cannot expand to 1000000000"),
    (lambda member: (10**9, member.file_size), "it is a damaged archive"),
    (lambda member: (member.compress_size, 150), "'a' in it is damaged"),
])  # fmt: skip
def test_sizes_that_cannot_be_are_refused(sizes, sentence, tmp_path):
    (tmp_path / "a.npz").write_bytes(member_states(npy(header(shape="(30000,)"), bytes(240_000)), sizes))
    with pytest.raises(ValueError, match=sentence):
        read_archive(tmp_path / "a.npz", ["a"])


def test_what_expands_further_than_it_states_takes_no_memory(tmp_path):
    """256 MB of zeros, in a member that says it has a thousand numbers."""
    start, name = npy(header(shape="(1000,)"), bytes(8000)), b"a.npy"
    packer = zlib.compressobj(1, wbits=-15)
    stream = packer.compress(start) + b"".join(packer.compress(bytes(2**26)) for _ in range(4)) + packer.flush()
    sizes = zlib.crc32(start), len(stream), len(start), len(name)
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 33, *sizes, 0) + name + stream
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 33, *sizes, *[0] * 6) + name
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(entry), len(local), 0)
    (tmp_path / "a.npz").write_bytes(local + entry + end)
    tracemalloc.start()
    try:
        assert read_archive(tmp_path / "a.npz", ["a"])[0]["a"].shape == (1000,)
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()
