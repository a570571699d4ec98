"""A packed store comes back whole; any other file is refused and changes nothing."""

import hashlib
import json
import os
import stat
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.runs.pack import (
    MANIFEST,
    MOST_RECORDS,
    Packed,
    PackedStore,
    Unpacked,
    check_packed,
    pack,
    packed_records,
    unpack,
)
from loadstone.runs.record import MOST_BYTES, Record, _header, key_of, to_bytes
from loadstone.runs.store import Store


def key(number):
    return key_of({"number": number})


def record(number):
    return Record(key(number), {"number": number}, {"loss": 1 / 3, "trace": [0.1] * 3}, {"host": "here"})


def name_of(number):
    return f"records/{key(number)[:2]}/{key(number)}.record"


def filled(folder, numbers):
    store = Store(folder)
    for number in numbers:
        store.put(record(number))
    return store


def contents(store):
    return {path.relative_to(store.folder): path.read_bytes() for path in store.folder.rglob("*") if path.is_file()}


def forged(path, members, manifest=None, **options):
    """A zip of any members, each (name or ZipInfo, content), with a manifest that fits them unless one is given."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members:
            if isinstance(member, zipfile.ZipInfo):
                member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content, **options)
        if manifest is None:
            sums = {getattr(member, "filename", member): hashlib.sha256(content).hexdigest()
                    for member, content in members}  # fmt: skip
            manifest = {"format": 2, "number": len(sums), "records": sums}
        archive.writestr(MANIFEST, manifest if isinstance(manifest, str) else json.dumps(manifest))
    return path


def refused(path, store, reason):
    before = contents(store)
    with pytest.raises(ValueError, match=reason) as caught:
        unpack(path, store)
    sentence = str(caught.value)
    assert sentence.startswith(f"{path} cannot be unpacked: ") and sentence.endswith(".") and "\n" not in sentence
    assert len(sentence) < 700 and not sentence.endswith("..") and contents(store) == before
    return sentence


def at_most(mebibytes, call, *arguments):
    tracemalloc.start()
    try:
        call(*arguments)
        assert tracemalloc.get_traced_memory()[1] < mebibytes * 2**20
    finally:
        tracemalloc.stop()


def test_there_and_back(tmp_path):
    store, file = filled(tmp_path / "one", range(20)), tmp_path / "store.zip"
    store.summaries()
    assert pack(store, file) == Packed(records=20, damaged=0)
    assert check_packed(file) == 20
    other = Store(tmp_path / "two")
    assert unpack(file, other) == Unpacked(added=20, already_there=0)
    records = {path: content for path, content in contents(store).items() if path.suffix == ".record"}
    assert contents(other) == records and len(records) == 20  # byte for byte, and neither index nor quarantine
    assert unpack(file, other) == Unpacked(added=0, already_there=20)


@settings(max_examples=25)
@given(st.sets(st.integers(0, 9), max_size=5), st.sets(st.integers(0, 9), max_size=5))
def test_unpacking_is_a_union(tmp_path_factory, ours, theirs):
    folder = tmp_path_factory.mktemp("union")
    pack(filled(folder / "theirs", theirs), folder / "store.zip")
    store = filled(folder / "ours", ours)
    assert unpack(folder / "store.zip", store) == Unpacked(len(theirs - ours), len(theirs & ours))
    assert store.keys() == {key(number) for number in ours | theirs}
    assert all(store.get(key(number)) == record(number) for number in ours | theirs)


def test_other_tools_read_it_and_can_verify_it(tmp_path):
    pack(filled(tmp_path / "store", range(3)), tmp_path / "store.zip")
    command = [sys.executable, "-m", "zipfile", "-e", tmp_path / "store.zip", tmp_path / "out"]
    assert subprocess.run(command, timeout=60).returncode == 0
    sums = {name_of(number): hashlib.sha256(to_bytes(record(number))).hexdigest() for number in range(3)}
    assert json.loads((tmp_path / "out" / MANIFEST).read_text()) == {"format": 2, "number": 3, "records": sums}
    assert Store(tmp_path / "out").get(key(2)) == record(2)
    with zipfile.ZipFile(tmp_path / "store.zip") as archive:
        assert archive.testzip() is None
        assert {member.compress_type for member in archive.infolist()} == {zipfile.ZIP_DEFLATED}


def test_the_same_store_gives_the_same_bytes(tmp_path):
    pack(filled(tmp_path / "one", range(9)), tmp_path / "one.zip")
    other = filled(tmp_path / "two", reversed(range(9)))
    os.utime(other.records / key(1)[:2] / f"{key(1)}.record", (0, 0))
    pack(other, tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert archive.namelist() == [*sorted(map(name_of, range(9))), MANIFEST]
        # Nothing in it depends on the time or on the system.
        kinds = {(member.date_time, member.create_system, member.external_attr >> 16) for member in archive.infolist()}
        assert kinds == {((1980, 1, 1, 0, 0, 0), 3, stat.S_IFREG | 0o644)}


def test_damaged_records_are_counted_and_not_packed(tmp_path):
    store = filled(tmp_path / "store", range(5))
    path = store.folder / name_of(3)
    path.write_bytes(path.read_bytes()[:-1])
    assert pack(store, tmp_path / "store.zip") == Packed(records=4, damaged=1)
    assert len(store.quarantined()) == 1 and check_packed(tmp_path / "store.zip") == 4


def test_ours_is_kept_unless_it_is_damaged(tmp_path):
    pack(filled(tmp_path / "theirs", [1, 2, 3]), tmp_path / "store.zip")
    store = Store(tmp_path / "ours")
    mine = Record(key(1), {"number": 1}, {"loss": 0.5}, {"host": "elsewhere"})
    store.put(mine)
    store.put(record(2))
    (store.folder / name_of(2)).write_bytes(b"damaged")
    body = b"written by a later version"
    later = store.folder / name_of(3)
    later.parent.mkdir(exist_ok=True)
    later.write_bytes(_header(9, body) + body)
    assert unpack(tmp_path / "store.zip", store) == Unpacked(added=1, already_there=2)
    assert store.get(key(1)) == mine and store.get(key(2)) == record(2) and later.read_bytes().endswith(body)


def test_a_pack_that_fails_leaves_the_old_file(tmp_path):
    store, file = filled(tmp_path / "store", [1, 2]), tmp_path / "store.zip"
    pack(store, file)
    before, body = file.read_bytes(), b"later"
    (store.folder / name_of(2)).write_bytes(_header(9, body) + body)
    with pytest.raises(ValueError, match="its schema is 9"):
        pack(store, file)
    assert file.read_bytes() == before and sorted(os.listdir(tmp_path)) == ["store", "store.zip"]


def test_too_many_records_or_bytes_are_neither_packed_nor_unpacked(tmp_path, monkeypatch):
    three, two = filled(tmp_path / "three", [1, 2, 3]), filled(tmp_path / "two", [1, 2])
    pack(three, tmp_path / "three.zip")
    monkeypatch.setattr("loadstone.runs.pack.MOST_RECORDS", 2)
    with pytest.raises(ValueError, match="store has 3 records of .* bytes, but must have at most 2 records of"):
        pack(three, tmp_path / "more.zip")
    refused(tmp_path / "three.zip", Store(tmp_path / "empty"), "it has 3 records of .* bytes, but must have at most 2")
    pack(two, tmp_path / "two.zip")
    assert check_packed(tmp_path / "two.zip") == 2

    size = len(to_bytes(record(1))) + len(to_bytes(record(2)))
    monkeypatch.setattr("loadstone.runs.pack.MOST_TOTAL_BYTES", size)
    assert pack(two, tmp_path / "again.zip") == Packed(2, 0) and check_packed(tmp_path / "again.zip") == 2
    monkeypatch.setattr("loadstone.runs.pack.MOST_TOTAL_BYTES", size - 1)
    refused(tmp_path / "two.zip", Store(tmp_path / "empty"), f"it has 2 records of {size} bytes, but must have at most")
    with pytest.raises(ValueError, match=f"store has 2 records of {size} bytes, but must have at most"):
        pack(two, tmp_path / "more.zip")
    assert not (tmp_path / "more.zip").exists()


def test_every_truncation_is_refused(tmp_path):
    pack(filled(tmp_path / "store", [1]), path := tmp_path / "store.zip")
    empty = Store(tmp_path / "empty")
    for length in reversed(range(path.stat().st_size)):
        os.truncate(path, length)
        refused(path, empty, "not a zip file")


def test_every_flipped_bit_is_refused_or_changes_no_record(tmp_path):
    """Each bit of a packed file, one after the other. Most are refused; the others are in what a zip says of itself."""
    pack(filled(tmp_path / "store", [1, 2]), path := tmp_path / "store.zip")
    content, expected, accepted = path.read_bytes(), list(packed_records(path)), 0
    with open(path, "r+b", buffering=0) as file:
        for offset, byte in enumerate(content):
            for bit in range(8):
                os.pwrite(file.fileno(), bytes([byte ^ 1 << bit]), offset)
                try:
                    assert list(packed_records(path)) == expected
                    accepted += 1
                except ValueError as refusal:
                    assert str(refusal).startswith(f"{path} cannot be unpacked: ")
            os.pwrite(file.fileno(), bytes([byte]), offset)
    assert path.read_bytes() == content and 0 < accepted < 8 * len(content) / 5


def test_bytes_around_the_members_are_not_used(tmp_path):
    pack(filled(tmp_path / "store", [1, 2]), tmp_path / "store.zip")
    content = (tmp_path / "store.zip").read_bytes()
    (tmp_path / "more.zip").write_bytes(b"in front" * 99 + content + b"behind" * 99)
    assert sorted(one.spec["number"] for one in packed_records(tmp_path / "more.zip")) == [1, 2]


@given(st.binary(max_size=300))
def test_junk_is_refused(tmp_path_factory, junk):
    folder = tmp_path_factory.mktemp("junk")
    (folder / "junk.zip").write_bytes(junk)
    refused(folder / "junk.zip", Store(folder / "store"), "not a zip file")


EVIL = [
    "../../evil", "/tmp/evil", "records/../../evil.record", f"records/ab/{key(1)}.record", name_of(1).upper(),
    f"records/{key(1)[:2]}/../{key(1)}.record", name_of(1) + "/", name_of(1) + "\n", "./" + name_of(1), "C:\\evil",
    name_of(1).replace("/", "\\"), "records/", "index.json", "quarantine/x.why", name_of(1) + "x" * 99, name_of(3),
]  # fmt: skip


@pytest.mark.parametrize("name", EVIL, ids=lambda name: name[:30])
def test_names_that_are_not_those_of_their_records(name, tmp_path):
    """The good record beside it is not put either."""
    path = forged(tmp_path / "evil.zip", [(name_of(2), to_bytes(record(2))), (name, to_bytes(record(1)))])
    sentence = refused(path, filled(tmp_path / "store", [7]), "in it cannot be read: it is not named after its key")
    assert repr(name[:100]) in sentence  # but no more of it
    assert sorted(os.listdir(tmp_path)) == ["evil.zip", "store"]


@pytest.mark.parametrize("evil", ["../../../evil", key(1).upper(), key(1) + "\n", key(1)[:63], ""])
def test_a_record_whose_key_is_not_a_key(evil, tmp_path):
    path = forged(tmp_path / "evil.zip", [(f"records/{evil[:2]}/{evil}.record", to_bytes(Record(evil, {}, {}, {})))])
    refused(path, Store(tmp_path / "store"), "its key is not the hash of its spec")


def test_a_name_with_a_zero_byte_is_seen_whole(tmp_path):
    path = forged(tmp_path / "evil.zip", [(name_of(1) + "#evil", to_bytes(record(1)))])
    path.write_bytes(path.read_bytes().replace(b".record#evil", b".record\0evil"))
    refused(path, Store(tmp_path / "store"), f"its {MANIFEST} does not list exactly the records that it holds")


def test_a_name_twice(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = forged(tmp_path / "evil.zip", [(name_of(1), to_bytes(record(1)))] * 2)
    refused(path, Store(tmp_path / "store"), f"its {MANIFEST} does not list exactly the records that it holds")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_other_kinds_are_only_read(kind, tmp_path):
    """What a link points to is not the content of a record; and one that holds a record is nothing but that record."""
    member = zipfile.ZipInfo(name_of(1))
    member.external_attr = (kind | 0o777) << 16
    path = forged(tmp_path / "evil.zip", [(member, b"/etc/passwd")])
    refused(path, Store(tmp_path / "store"), "its header is not that of a record")
    forged(path, [(member, to_bytes(record(1)))])
    assert unpack(path, store := Store(tmp_path / "store")) == Unpacked(1, 0)
    assert (store.folder / name_of(1)).lstat().st_mode & stat.S_IFMT(0o777777) == stat.S_IFREG


@pytest.mark.parametrize("content, reason", [
    (b"", "its header is not that of a record"), (to_bytes(record(2)), "it is not named after its key"),
    (to_bytes(record(1))[:-1], "does not match its header"), (_header(2, b"{}") + b"{}", "its schema is 2.*update it"),
    (_header(1, b"{}") + b"{}", "not that of a record"),
    (_header(1, b"[" * 9999) + b"[" * 9999, "not that of a record"),
])  # fmt: skip
def test_contents_that_are_not_those_of_records(content, reason, tmp_path):
    """The good record beside it is not put either."""
    path = forged(tmp_path / "evil.zip", [(name_of(3), to_bytes(record(3))), (name_of(1), content)])
    refused(path, filled(tmp_path / "store", [7]), f"'{name_of(1)}' in it cannot be read: .*{reason}")


LISTED = {name_of(1): hashlib.sha256(to_bytes(record(1))).hexdigest()}


@pytest.mark.parametrize("manifest, reason", [
    ({"format": 3}, "its format is 3, but this version of loadstone reads only 2: update it"),
    ({"format": 2, "number": 2, "records": LISTED}, "does not list exactly"), ({"format": 2}, "does not list exactly"),
    ({"format": 2, "records": LISTED}, "does not list exactly"), ([], "does not list exactly"),
    ({"format": "2", "number": 1, "records": LISTED}, "does not list exactly"),
    ({"format": 1, "number": 1, "records": LISTED}, "does not list exactly"),
    ({"format": 2, "number": 1, "records": list(LISTED)}, "does not list exactly"),
    ({"format": 2, "number": 0, "records": {}}, "does not list exactly"),
    ({"format": 2, "number": 2, "records": LISTED | {name_of(2): ""}}, "does not list exactly"),
    ({"format": 2, "number": 1, "records": {name_of(1): "0" * 64}}, "does not match its SHA-256 sum in the manifest"),
    ({"format": 2, "number": 1, "records": {name_of(1): None}}, "does not match its SHA-256 sum in the manifest"),
    ("", "Expecting value"), ("[" * 319, "Expecting value"),
    (" " * 320, "Expecting value"), (" " * 321, "it states 321 bytes, but must have at most 320"),
])  # fmt: skip
def test_a_manifest_that_does_not_fit(manifest, reason, tmp_path):
    path = forged(tmp_path / "odd.zip", [(name_of(1), to_bytes(record(1)))], manifest)
    refused(path, Store(tmp_path / "store"), reason)


def test_a_zip_of_something_else_and_one_of_the_first_format(tmp_path):
    with zipfile.ZipFile(tmp_path / "old.zip", "w") as archive:
        archive.writestr("loadstone-store.json", '{"form":1,"records":0}')
    refused(tmp_path / "old.zip", Store(tmp_path / "store"), "packed by loadstone 0.1 must be unpacked by that version")


def restated(path, size, crc):
    """Let the first member state another size and checksum, in both places where a zip says it."""
    content = bytearray(path.read_bytes())
    for signature, place in ((b"PK\3\4", 14), (b"PK\1\2", 16)):
        start = content.index(signature)
        struct.pack_into("<L", content, start + place, crc)
        struct.pack_into("<L", content, start + place + 8, size)
    path.write_bytes(content)
    return path


def test_what_lies_behind_the_stated_size_is_not_read(tmp_path):
    """A record, then 128 MiB of zeros: refused if the sum is that of all, and only the record if it is that one's."""
    good, path = to_bytes(record(1)), tmp_path / "bomb.zip"
    forged(path, [(name_of(1), good + bytes(2**27))])
    assert path.stat().st_size < 2**19
    at_most(4, refused, restated(path, len(good), 0), Store(tmp_path / "store"), "Bad CRC-32")
    restated(path, len(good), zlib.crc32(good))
    at_most(4, refused, path, Store(tmp_path / "store"), "does not match its SHA-256 sum")
    manifest = {"format": 2, "number": 1, "records": {name_of(1): hashlib.sha256(good).hexdigest()}}
    forged(path, [(name_of(1), good + bytes(2**27))], manifest)
    restated(path, len(good), zlib.crc32(good))
    at_most(4, unpack, path, store := Store(tmp_path / "store"))
    assert contents(store) == {Path(name_of(1)): good}


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bomb_in_another_compression_is_refused_in_little_memory(kind, tmp_path):
    path = forged(tmp_path / "bomb.zip", [(name_of(1), bytes(2**25))], compress_type=kind)
    restated(path, 100, 0)
    at_most(4, refused, path, Store(tmp_path / "store"), "compressed in a way that no packed store uses")


def test_stated_sizes_are_bounded_before_anything_is_read(tmp_path):
    path = forged(tmp_path / "huge.zip", [(name_of(1), b"short")])
    restated(path, MOST_BYTES + 1025, 0)
    at_most(4, refused, path, Store(tmp_path / "store"), f"states {MOST_BYTES + 1025} bytes, but must have at most")
    restated(path, MOST_BYTES + 1024, 0)
    at_most(4, refused, path, Store(tmp_path / "store"), "Bad CRC-32")


@pytest.mark.parametrize("more, reason", [(0, f"states {2**32 - 2} bytes"), (1, f"17 records of {2**36 + 1} bytes")])
def test_all_stated_sizes_together_are_bounded_too(more, reason, tmp_path):
    """Sixteen records that state just under 4 GiB each, and one that makes it 64 GiB exactly, or one byte more."""
    path = forged(tmp_path / "total.zip", [(name_of(number), b"short") for number in range(17)])
    content, start = bytearray(path.read_bytes()), -1
    for size in [2**32 - 2] * 16 + [32 + more]:
        start = content.index(b"PK\1\2", start + 1)
        struct.pack_into("<L", content, start + 24, size)
    path.write_bytes(content)
    at_most(4, refused, path, Store(tmp_path / "store"), reason)


def test_a_sentence_stays_short(tmp_path):
    """zipfile quotes a name whole, and a header can state one of 65535 bytes."""
    path = forged(tmp_path / "names.zip", [(name_of(1), to_bytes(record(1))), (name_of(2), os.urandom(2**17))])
    content = bytearray(path.read_bytes())
    struct.pack_into("<H", content, 26, 60_000)
    path.write_bytes(content)
    reason = refused(path, Store(tmp_path / "store"), "File name in directory").split("cannot be read: ")[1]
    assert len(reason) == 301


def test_a_list_of_members_too_long_is_not_read(tmp_path):
    """Members that are nothing but an entry of the list: a sparse file that states a list of 160 MB and a byte."""
    path, size = tmp_path / "list.zip", 160 * MOST_RECORDS + 1
    with open(path, "wb") as file:
        file.seek(size)
        file.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, size, 0, 0))
    reason = "its list of members is 160000001 bytes long, but must be at most 160000000"
    at_most(4, refused, path, Store(tmp_path / "store"), reason)


@pytest.mark.parametrize("depth", [600, 3000, 100_000])
def test_a_record_nested_deeply_comes_whole_or_not_at_all(depth, tmp_path):
    """Python reads some that it cannot write again: they must not stop the work halfway."""
    body = b'{"key":"%s","spec":{"number":1},"result":{"a":' % key(1).encode() + b"[" * depth + b"]" * depth
    body += b'},"circumstances":{}}'
    path = forged(tmp_path / "deep.zip", [(name_of(2), to_bytes(record(2))), (name_of(1), _header(1, body) + body)])
    store = Store(tmp_path / "store")
    try:
        assert unpack(path, store) == Unpacked(added=2, already_there=0)
    except ValueError:
        assert not contents(store)


def test_a_record_that_is_too_long_once_it_is_written_again(tmp_path, monkeypatch):
    """In a file from elsewhere a letter may take two bytes; written again it takes six."""
    body = f'{{"key":"{key(1)}","spec":{{"number":1}},"result":{{"a":"{"é" * 200}"}},"circumstances":{{}}}}'.encode()
    path = forged(tmp_path / "long.zip", [(name_of(2), to_bytes(record(2))), (name_of(1), _header(1, body) + body)])
    monkeypatch.setattr("loadstone.runs.record.MOST_BYTES", 1000)
    assert len(body) < 1000
    refused(path, Store(tmp_path / "store"), f"'{name_of(1)}' in it cannot be read: record is .* must be at most 1000")


def test_encrypted_members(tmp_path):
    path = forged(tmp_path / "secret.zip", [(name_of(1), to_bytes(record(1)))])
    content = bytearray(path.read_bytes())
    for signature, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(signature) + place] |= 1
    path.write_bytes(content)
    refused(path, Store(tmp_path / "store"), "encrypted")


def test_no_file(tmp_path):
    for path in (tmp_path / "nowhere.zip", tmp_path):
        with pytest.raises(FileNotFoundError, match="is not a file: give the name of a packed store"):
            unpack(path, Store(tmp_path / "store"))


def packed_numbers(tmp_path, name, numbers):
    pack(filled(tmp_path / f"store of {name}", numbers), tmp_path / name)
    return tmp_path / name


def test_a_packed_store_gives_each_record_by_its_key(tmp_path):
    paths = [packed_numbers(tmp_path, "a.zip", range(3)), packed_numbers(tmp_path, "b.zip", range(2, 5))]
    with PackedStore(paths) as packed:
        assert packed.keys() == {key(number) for number in range(5)}
        assert [packed.get(key(number)) for number in range(5)] == [record(number) for number in range(5)]
        assert packed.get(key(5)) is None and packed.get("no key") is None


def test_a_packed_store_reads_only_what_it_is_asked_for(tmp_path):
    """A damaged record keeps no other from being read, and is refused in one sentence when it is asked for."""
    content = bytearray(to_bytes(record(1)))
    content[-3] ^= 1
    sums = {name_of(number): hashlib.sha256(to_bytes(record(number))).hexdigest() for number in range(2)}
    manifest = json.dumps({"format": 2, "number": 2, "records": sums})
    path = forged(tmp_path / "a.zip", [(name_of(0), to_bytes(record(0))), (name_of(1), bytes(content))], manifest)
    with PackedStore([path]) as packed:
        assert packed.get(key(0)) == record(0)
        with pytest.raises(ValueError, match="a.zip cannot be unpacked: .*does not match its SHA-256 sum") as refused:
            packed.get(key(1))
    assert str(refused.value).count("\n") == 0


def test_a_record_that_no_run_has_counts_as_none_in_a_packed_store(tmp_path):
    false = Record(key(1), {"number": 1}, {"accuracy": 2.0}, {})
    path = forged(tmp_path / "a.zip", [(name_of(1), to_bytes(false))])
    with PackedStore([path]) as packed:
        assert packed.get(key(1)) is None


def test_of_several_files_one_that_is_refused_leaves_none_open(tmp_path):
    good, bad = packed_numbers(tmp_path, "a.zip", range(3)), tmp_path / "b.zip"
    bad.write_bytes(b"no zip")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ValueError, match="b.zip cannot be unpacked: File is not a zip file"):
        PackedStore([good, bad])
    assert len(os.listdir("/proc/self/fd")) == before
