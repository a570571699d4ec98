"""A packed store comes back whole, and a file that is not one, in whatever way, is refused and changes nothing."""

import hashlib
import io
import json
import os
import stat
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.experiments.pack import ABOUT, MOST_RECORDS, NO_CHECKSUM, Packed, checksum, pack
from loadstone.experiments.record import MOST_BYTES, Record, _header, to_bytes
from loadstone.experiments.store import Store
from loadstone.experiments.unpack import Unpacked, _members, check_packed, unpack


def key(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


def record(number, size=3):
    return Record(key(number), {"number": number}, {"loss": 1 / 3, "trace": [0.1] * size}, {"host": "here"})


def name_of(number):
    return f"records/{key(number)[:2]}/{key(number)}.record"


def filled(folder, numbers):
    store = Store(folder)
    for number in numbers:
        store.put(record(number))
    return store


def contents(store):
    return {path.relative_to(store.folder): path.read_bytes() for path in store.folder.rglob("*") if path.is_file()}


def signed(path, content):
    """Write a zip with the right checksum in its comment, as a dishonest writer would."""
    file = io.BytesIO(content)
    path.write_bytes(content[:-64] + checksum(file))
    return path


def forged(path, members, about=None, **options):
    """A zip of any members, each (name or ZipInfo, content), signed."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content, **options)
        if about is None:
            about = {"form": 1, "records": len(members)}
        archive.writestr(ABOUT, about if isinstance(about, str) else json.dumps(about))
        archive.comment = NO_CHECKSUM
    return signed(path, file.getvalue())


def refused(path, store, reason):
    before = contents(store)
    with pytest.raises(ValueError, match=reason) as caught:
        unpack(path, store)
    sentence = str(caught.value)
    assert sentence.startswith(f"{path} cannot be unpacked: ") and sentence.endswith(".") and "\n" not in sentence
    assert contents(store) == before
    return sentence


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


def test_other_tools_read_it(tmp_path):
    pack(filled(tmp_path / "store", range(3)), tmp_path / "store.zip")
    command = [sys.executable, "-m", "zipfile", "-e", tmp_path / "store.zip", tmp_path / "out"]
    assert subprocess.run(command, timeout=60).returncode == 0
    assert json.loads((tmp_path / "out" / ABOUT).read_text()) == {"form": 1, "records": 3}
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
        assert archive.namelist() == [*sorted(map(name_of, range(9))), ABOUT]
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


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


def test_truncated_at_every_length_and_every_byte_flipped(tmp_path):
    pack(filled(tmp_path / "store", [1]), tmp_path / "store.zip")
    content, path, empty = (tmp_path / "store.zip").read_bytes(), tmp_path / "bad.zip", Store(tmp_path / "empty")
    for length in range(len(content)):
        path.write_bytes(content[:length])
        refused(path, empty, "do not match its checksum")
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])
        refused(path, empty, "do not match its checksum")


def test_a_flipped_byte_is_harmless_even_under_a_new_checksum(tmp_path):
    """Whoever signs anew can change what a zip says about itself, but never what a record says."""
    pack(filled(tmp_path / "store", [1, 2]), tmp_path / "store.zip")
    content, path = (tmp_path / "store.zip").read_bytes(), tmp_path / "bad.zip"
    accepted = 0
    for place in range(0, len(content) - 64, 3):
        signed(path, content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])
        store = Store(tmp_path / "into" / str(place))
        try:
            unpack(path, store)
            accepted += 1
            assert store.keys() == {key(1), key(2)} and store.get(key(1)) == record(1)
        except ValueError as refusal:
            assert str(refusal).startswith(f"{path} cannot be unpacked: ") and not contents(store)
    assert 0 < accepted < len(content) / 9


@given(st.binary(max_size=300))
def test_junk_is_refused(tmp_path_factory, junk):
    folder = tmp_path_factory.mktemp("junk")
    (folder / "junk.zip").write_bytes(junk)
    refused(folder / "junk.zip", Store(folder / "store"), "damaged or no packed store")
    signed(folder / "junk.zip", junk + NO_CHECKSUM)
    refused(folder / "junk.zip", Store(folder / "store"), "not a zip file")


EVIL = [
    "../../evil", "/tmp/evil", "records/../../evil.record", f"records/ab/{key(1)}.record", name_of(1).upper(),
    f"records/{key(1)[:2]}/../{key(1)}.record", name_of(1) + "/", name_of(1) + "\n", "./" + name_of(1), "C:\\evil",
    name_of(1).replace("/", "\\"), "records/", "index.json", "quarantine/x.why", name_of(1) + "x" * 60_000,
]  # fmt: skip


@pytest.mark.parametrize("name", EVIL, ids=lambda name: name[:30])
def test_names_that_are_not_those_of_records(name, tmp_path):
    path = forged(tmp_path / "evil.zip", [(name_of(2), to_bytes(record(2))), (name, to_bytes(record(1)))])
    sentence = refused(path, Store(tmp_path / "store"), "which is not the name of a record")
    assert len(sentence) < 400 and sorted(os.listdir(tmp_path)) == ["evil.zip", "store"]


def test_a_name_with_a_zero_byte_is_seen_whole(tmp_path):
    path = forged(tmp_path / "evil.zip", [(name_of(1) + "#evil", to_bytes(record(1)))])
    signed(path, path.read_bytes().replace(b".record#evil", b".record\0evil"))
    refused(path, Store(tmp_path / "store"), "not the name of a record")


def test_a_name_twice(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = forged(tmp_path / "evil.zip", [(name_of(1), to_bytes(record(1)))] * 2)
    refused(path, Store(tmp_path / "store"), f"it holds {name_of(1)} twice")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_other_kinds(kind, tmp_path):
    member = zipfile.ZipInfo(name_of(1))
    member.external_attr = (kind | 0o777) << 16
    path = forged(tmp_path / "evil.zip", [(member, b"/etc/passwd")])
    refused(path, Store(tmp_path / "store"), "is not a plain file")


@pytest.mark.parametrize("content, reason", [
    (b"", "its header is not that of a record"), (to_bytes(record(2)), "is the record of another key"),
    (to_bytes(record(1))[:-1], "does not match its header"), (_header(2, b"{}") + b"{}", "its schema is 2.*update it"),
    (_header(1, b"{}") + b"{}", "not that of a record"),
    (_header(1, b"[" * 9999) + b"[" * 9999, "not that of a record"),
])  # fmt: skip
def test_contents_that_are_not_those_of_records(content, reason, tmp_path):
    """The good record beside it is not put either."""
    path = forged(tmp_path / "evil.zip", [(name_of(3), to_bytes(record(3))), (name_of(1), content)])
    refused(path, filled(tmp_path / "store", [7]), f"{name_of(1)} in it .*{reason}")


@pytest.mark.parametrize("about, reason", [
    ({"form": 2, "records": 1}, "its form is 2, but this version of loadstone reads up to 1: update it"),
    ({"form": 1, "records": 2}, "it states 2 records, but holds 1"), ({"form": 1}, "it states None records"),
    ({"form": "1", "records": 1}, "states no form"), ({"form": 0, "records": 1}, "states no form"),
    ({"form": True, "records": 1}, "states no form"), ([], "states no form"), ("", "Expecting value"),
    ("[" * 999, "cannot"), (" " * 1001, "states 1001 bytes, but must have at most 1000"),
])  # fmt: skip
def test_what_the_file_says_of_itself(about, reason, tmp_path):
    path = forged(tmp_path / "odd.zip", [(name_of(1), to_bytes(record(1)))], about)
    refused(path, Store(tmp_path / "store"), reason)


def test_a_zip_of_something_else(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.comment = NO_CHECKSUM
    refused(signed(tmp_path / "empty.zip", file.getvalue()), Store(tmp_path / "store"), f"it has no {ABOUT}")


def at_most(mebibytes, call, *arguments):
    tracemalloc.start()
    try:
        call(*arguments)
        assert tracemalloc.get_traced_memory()[1] < mebibytes * 2**20
    finally:
        tracemalloc.stop()


def restated(path, size, crc=None):
    """Let the first member state another size (and checksum), in both places where a zip says it."""
    content = bytearray(path.read_bytes())
    for signature, place in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
        start = content.index(signature)
        struct.pack_into("<L", content, start + place, size)
        if crc is not None:
            struct.pack_into("<L", content, start + place - 8, crc)
    return signed(path, bytes(content))


@pytest.mark.parametrize("covered, reason", [(0, "Bad CRC-32"), (1, "does not have the .* bytes that it states")])
def test_a_bomb_that_states_a_small_size_is_refused_in_little_memory(covered, reason, tmp_path):
    """A good record, then 128 MiB of zeros behind the stated end, under a checksum of what is first read."""
    good = to_bytes(record(1))
    path = forged(tmp_path / "bomb.zip", [(name_of(1), good + bytes(2**27))])
    assert path.stat().st_size < 2**19
    restated(path, len(good), zlib.crc32(good + bytes(covered)))
    at_most(4, refused, path, Store(tmp_path / "store"), reason)


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bomb_in_another_compression_is_refused_in_little_memory(kind, tmp_path):
    path = forged(tmp_path / "bomb.zip", [(name_of(1), bytes(2**25))], compress_type=kind)
    restated(path, 100)
    at_most(4, refused, path, Store(tmp_path / "store"), "compressed in a way that no packed store uses")


def test_stated_sizes_are_bounded_before_anything_is_read(tmp_path):
    path = forged(tmp_path / "huge.zip", [(name_of(1), b"short")])
    restated(path, MOST_BYTES + 1025)
    at_most(4, refused, path, Store(tmp_path / "store"), f"states {MOST_BYTES + 1025} bytes, but must have at most")
    # A record that states more than it has is refused when it ends early.
    restated(path, MOST_BYTES)
    refused(path, Store(tmp_path / "store"), "does not have the .* bytes that it states")

    path = forged(tmp_path / "total.zip", [(name_of(number), b"short") for number in range(20)])
    content = bytearray(path.read_bytes())
    place = -1
    while (place := content.find(b"PK\1\2", place + 1)) >= 0:
        struct.pack_into("<L", content, place + 24, 2**32 - 2)
    signed(path, bytes(content))
    at_most(4, refused, path, Store(tmp_path / "store"), "bytes of records, but must have at most")


def test_a_list_of_members_too_long_is_not_read(tmp_path):
    """Members that are nothing but an entry of the list: a sparse file that states a list of 200 MB."""
    path, size = tmp_path / "list.zip", 200 * MOST_RECORDS
    with open(path, "wb") as file:
        file.truncate(size)
        file.seek(size)
        file.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, size, 0, 64) + NO_CHECKSUM)
    with open(path, "r+b") as file:
        found = checksum(file)
        file.write(found)
    at_most(
        4, refused, path, Store(tmp_path / "store"), "its list of members is 200000000 bytes long, but must be at most"
    )


def test_members_are_counted_before_they_are_looked_at():
    with pytest.raises(ValueError, match="it has 1000002 members, but must have at most 1000001"):
        _members([zipfile.ZipInfo("../../evil")] * (MOST_RECORDS + 2))


@pytest.mark.parametrize("depth", [600, 3000, 100_000])
def test_a_record_nested_deeply_comes_whole_or_not_at_all(depth, tmp_path):
    """Python reads some that it cannot write again: they must not stop the work halfway."""
    body = b'{"key":"%s","spec":{"a":' % key(1).encode() + b"[" * depth + b"]" * depth
    body += b'},"result":{},"circumstances":{}}'
    path = forged(tmp_path / "deep.zip", [(name_of(2), to_bytes(record(2))), (name_of(1), _header(1, body) + body)])
    store = Store(tmp_path / "store")
    try:
        assert unpack(path, store) == Unpacked(added=2, already_there=0)
    except ValueError:
        assert not contents(store)


def test_encrypted_members(tmp_path):
    path = forged(tmp_path / "secret.zip", [(name_of(1), to_bytes(record(1)))])
    content = bytearray(path.read_bytes())
    for signature, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(signature) + place] |= 1
    refused(signed(path, bytes(content)), Store(tmp_path / "store"), "encrypted")


def test_no_file(tmp_path):
    for path in (tmp_path / "nowhere.zip", tmp_path):
        with pytest.raises(FileNotFoundError, match="is not a file: give the name of a packed store"):
            unpack(path, Store(tmp_path / "store"))
