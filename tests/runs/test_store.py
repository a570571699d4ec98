"""The store against a dictionary, against damage, and against writers that are killed, for real."""

import hashlib
import inspect
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from loadstone.runs import index
from loadstone.runs.record import NewerSchemaError, Record, _header, from_bytes, key_of, to_bytes
from loadstone.runs.store import Store


def key(number):
    return key_of({"number": number})


def record(number, size=3, **result):
    return Record(
        key(number), {"number": number}, {"status": "step limit", "trace": [0.5] * size} | result, {"host": "here"}
    )


def file_of(store, number):
    return store.records / key(number)[:2] / f"{key(number)}.record"


def test_what_is_put_comes_back(tmp_path):
    store = Store(tmp_path / "store")
    assert store.get(key(1)) is None and store.keys() == set()
    store.put(record(1))
    store.put(record(2, loss=0.25))
    assert Store(tmp_path / "store").get(key(1)) == record(1)
    assert store.keys() == {key(1), key(2)} and store.missing([key(3), key(1), key(4)]) == [key(3), key(4)]
    assert store.summaries()[key(2)]["result"] == {"status": "step limit", "loss": 0.25}


class AgainstADictionary(RuleBasedStateMachine):
    """Any order of writing, damaging, deleting the index and reading gives what a dictionary would."""

    numbers = st.integers(0, 5)

    @initialize()
    def begin(self):
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.store, self.model = Store(self.folder.name), {}

    @rule(number=numbers, loss=st.floats(0, 1))
    def put(self, number, loss):
        self.store.put(record(number, loss=loss))
        self.model[key(number)] = record(number, loss=loss)

    @rule(number=numbers)
    def get(self, number):
        assert self.store.get(key(number)) == self.model.get(key(number))

    @rule(number=numbers, cut=st.integers(0, 200))
    def damage(self, number, cut):
        path = file_of(self.store, number)
        if path.exists():
            path.write_bytes(path.read_bytes()[:cut])
            assert self.store.get(key(number)) is None
            self.model.pop(key(number))

    @rule()
    def delete_index(self):
        (self.store.folder / "index.json").unlink(missing_ok=True)

    @rule(junk=st.binary(max_size=30))
    def spoil_index(self, junk):
        (self.store.folder / "index.json").write_bytes(junk)

    @rule()
    def open_again(self):
        self.store = Store(self.folder.name)

    @rule()
    def summaries(self):
        expected = {name: one.result["loss"] for name, one in self.model.items()}
        assert {name: one["result"]["loss"] for name, one in self.store.summaries().items()} == expected

    @invariant()
    def keys_agree(self):
        if hasattr(self, "model"):
            assert self.store.keys() == set(self.model)

    def teardown(self):
        self.folder.cleanup()


TestAgainstADictionary = AgainstADictionary.TestCase
TestAgainstADictionary.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)


@pytest.mark.parametrize("damage", [
    lambda content: content[:-1], lambda content: b"", lambda content: content.replace(b"step", b"stop"),
    lambda content: content + b"\n", lambda content: to_bytes(record(99)),
])  # fmt: skip
def test_a_damaged_record_is_set_aside_reported_and_missing(damage, tmp_path):
    store = Store(tmp_path)
    store.put(record(1))
    store.summaries()
    path = file_of(store, 1)
    path.write_bytes(damage(path.read_bytes()))
    assert store.summaries() == {} and store.get(key(1)) is None
    assert store.missing([key(1)]) == [key(1)]
    (why,) = store.quarantined()
    assert key(1) in why
    store.put(record(1))
    assert store.get(key(1)) == record(1) and len(store.quarantined()) == 1


def test_a_damage_that_keeps_size_and_time_is_seen_when_the_record_is_read(tmp_path):
    store = Store(tmp_path)
    store.put(record(1))
    path, state = file_of(store, 1), file_of(store, 1).stat()
    path.write_bytes(path.read_bytes().replace(b"step", b"stop"))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert store.get(key(1)) is None and len(store.quarantined()) == 1


def test_a_record_of_a_later_version_is_left_alone_and_named(tmp_path):
    store = Store(tmp_path)
    store.put(record(1))
    body = file_of(store, 1).read_bytes().split(b"\n", 1)[1]
    file_of(store, 1).write_bytes(_header(2, body) + body)
    for read in (lambda: store.get(key(1)), store.summaries):
        with pytest.raises(NewerSchemaError, match=f"{key(1)}.record cannot be read: its schema is 2"):
            read()
    assert file_of(store, 1).exists() and not store.quarantined()


def test_keys_cannot_leave_the_folder(tmp_path):
    for bad in ("../../etc/passwd", "a" * 63, "A" * 64, "", "a" * 64 + "/x"):
        with pytest.raises(ValueError, match="key is .* but must be 64 hexadecimal digits"):
            Store(tmp_path).get(bad)


def test_a_file_in_the_place_of_the_store_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="which is a file: give the name of a folder"):
        Store(tmp_path / "file")


WRITER = """
import sys
from loadstone.runs.record import Record, key_of
from loadstone.runs.store import Store

{functions}
store, first = Store(sys.argv[1]), int(sys.argv[2])
for number in range(first, first + 10**6):
    store.put(record(number, size=2000))
    print(number, flush=True)
"""
KILLS = int(os.environ.get("LOADSTONE_STORE_KILLS", "20"))


def test_writers_killed_at_random_moments_lose_nothing_that_was_acknowledged(tmp_path):
    """Real processes, real SIGKILL, two writers at a time on one store."""
    script = tmp_path / "writer.py"
    script.write_text(WRITER.format(functions=inspect.getsource(key) + inspect.getsource(record)))
    store, acknowledged, kills, first = Store(tmp_path / "store"), set(), 0, 0
    delay = 0.0
    while kills < KILLS:
        writers = []
        for _ in range(2):
            first += 10**6
            command = [sys.executable, str(script), str(store.folder), str(first)]
            writers.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        for writer in writers:
            assert writer.stdout.readline()  # it writes
        # Moments spread over the time of a few writes.
        delay = (delay + 0.00137) % 0.02
        time.sleep(delay)
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            kills += 1
        for writer in writers:
            lines = writer.stdout.read().splitlines()
            acknowledged |= {int(line) for line in lines if line.isdigit()}
            writer.wait()
            writer.stdout.close()
    for number in acknowledged:
        assert store.get(key(number)) == record(number, size=2000), number
    for name in store.keys():
        assert store.get(name) is not None
    assert not store.quarantined()
    print(f"{kills} kills, {len(acknowledged)} acknowledged records, {len(store.keys())} in the store, none unreadable")


def test_what_dead_writers_left_is_removed_but_not_what_the_living_write(tmp_path):
    store = Store(tmp_path)
    store.put(record(1))
    folder = file_of(store, 1).parent
    old, new = folder / f".{key(1)}.record.1.2.part", folder / f".{key(1)}.record.3.4.part"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    assert store.keys() == {key(1)}
    # Files of others: in our folder, and with a name as ours have it in a folder to which a link leads.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = next(name for name in ("aa", "bb") if not (store.records / name).exists())
    (store.records / link).symlink_to(elsewhere)
    foreign = [elsewhere / old.name, folder / ".download.part", folder / f"{old.name}x", tmp_path / f"x{old.name}"]
    for path in foreign:
        path.write_bytes(b"half")
        os.utime(path, (0, 0))
    foreign.append(folder / f".{key(1)}.record.11.12.part")
    foreign[-1].symlink_to(foreign[0])
    # An hour is the limit; what lies at the top of the store and of its records counts too.
    nearly = folder / f".{key(1)}.record.5.6.part"
    above = [tmp_path / ".index.7.8.part", store.records / ".probe.9.1.part"]
    now = time.time()
    for path, age in ((nearly, 3500), *((path, 3700) for path in above)):
        path.write_bytes(b"half")
        os.utime(path, (now - age, now - age))
    assert store.tidy() == 3 and not any(path.exists() for path in (old, *above))
    assert new.exists() and nearly.exists() and all(path.exists() for path in foreign) and store.keys() == {key(1)}


def test_a_full_disk_leaves_no_half_record(tmp_path):
    """A limit on the size of files is what a full disk looks like to a writer: a write that fails halfway."""
    program = f"import resource, signal, sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
    program += "from test_store import Store, record\n"
    program += (
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
    )
    program += "store = Store(sys.argv[1])\nstore.put(record(1))\nstore.put(record(2, size=20000))"
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode != 0 and "File too large" in done.stderr
    store = Store(tmp_path)
    assert store.keys() == {key(1)} and store.get(key(1)) == record(1)
    assert not list(tmp_path.rglob("*.part"))


def test_with_the_index_only_what_is_new_is_read(tmp_path, monkeypatch):
    store, read = Store(tmp_path), []
    for number in range(40):
        store.put(record(number))
    monkeypatch.setattr(Store, "get", lambda self, key, get=Store.get: read.append(key) or get(self, key))
    expected = store.summaries()
    assert len(expected) == len(read) == 40 and store.summaries() == expected and len(read) == 40
    store.put(record(7, loss=0.5))
    assert store.summaries()[key(7)]["result"]["loss"] == 0.5 and read[40:] == [key(7)]


def test_files_hold_text_only(tmp_path):
    store = Store(tmp_path)
    store.put(record(1))
    content = file_of(store, 1).read_bytes()
    assert content.isascii() and from_bytes(content) == record(1)


@pytest.mark.parametrize("body", [
    {"form": 2, "entries": []}, {"form": 2, "entries": {key(1): 5}}, [], {"form": 2, "entries": {key(1): {"stamp": 1}}},
    {"form": 2, "entries": {key(1): {"stamp": "this", "summary": {}}}}, "[" * 100_000,
], ids=range(6))  # fmt: skip
def test_an_index_from_elsewhere_does_no_harm_whatever_its_checksum(body, tmp_path):
    store = Store(tmp_path)
    store.put(record(1))
    expected = store.summaries()
    text = body if isinstance(body, str) else json.dumps(body)
    text = text.replace('"this"', str(index.stamp(file_of(store, 1).stat())))
    for content in (text, f'{{"sha256":"{hashlib.sha256(text.encode()).hexdigest()}","index":{text}}}'):
        (tmp_path / "index.json").write_text(content)
        assert store.summaries() == expected


def test_damage_of_one_key_is_kept_and_reported_every_time(tmp_path):
    store = Store(tmp_path)
    for count in (1, 2):
        store.put(record(1))
        file_of(store, 1).write_bytes(b"no record")
        assert store.get(key(1)) is None and len(store.quarantined()) == count
    assert len(list(store.quarantine.glob("*.damaged"))) == 2


def test_a_record_of_another_run_is_not_taken_for_this_one(tmp_path):
    store = Store(tmp_path)
    store.put(record(1))
    file_of(store, 2).parent.mkdir(exist_ok=True)
    file_of(store, 1).replace(file_of(store, 2))
    assert store.get(key(2)) is None and "the record of another key" in store.quarantined()[0]


def test_a_good_record_is_not_carried_off_with_the_damaged_one_before_it(tmp_path, monkeypatch):
    """A reader has read damaged bytes; before it moves the file, a writer puts a good one in its place."""
    store = Store(tmp_path)
    store.put(record(1))
    file_of(store, 1).write_bytes(b"no record")
    real = Store._set_aside

    def late(self, *arguments):
        monkeypatch.setattr(Store, "_set_aside", real)
        self.put(record(1))
        real(self, *arguments)

    monkeypatch.setattr(Store, "_set_aside", late)
    assert store.get(key(1)) is None
    assert store.get(key(1)) == record(1) and not store.quarantined()


def test_pipes_and_folders_in_the_place_of_records_are_set_aside(tmp_path):
    store = Store(tmp_path)
    for number, make in ((1, os.mkfifo), (2, os.mkdir)):
        file_of(store, number).parent.mkdir(exist_ok=True)
        make(file_of(store, number))
        assert store.get(key(number)) is None
    assert len(store.quarantined()) == 2 and not store.keys()


def test_a_record_is_on_the_disk_before_it_is_acknowledged(tmp_path, monkeypatch):
    """A killed process cannot show this, for the system still holds what it wrote; a power cut could. So the calls are
    watched: the whole file is synchronised before it gets its name, and the folder with the name afterwards."""
    store, calls = Store(tmp_path), []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(handle):
        path = os.readlink(f"/proc/self/fd/{handle}")
        size = 0 if os.path.isdir(path) else os.path.getsize(path)
        calls.append(("fsync", os.path.relpath(path, tmp_path), size))
        real_fsync(handle)

    def replace(source, target):
        calls.append(("replace", os.path.relpath(target, tmp_path), os.path.getsize(source)))
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    store.put(record(1))
    size, shard = len(to_bytes(record(1))), f"records/{key(1)[:2]}"
    (_, records, _), (_, temporary, written), replaced, folder = calls
    assert records == "records" and os.path.dirname(temporary) == shard and temporary.endswith(".part")
    assert written == size and replaced == ("replace", f"{shard}/{key(1)}.record", size)
    assert folder == ("fsync", shard, 0)
    calls.clear()
    store.put(record(1))  # the folder is there: its own name need not be written again
    assert [name for name, *_ in calls] == ["fsync", "replace", "fsync"]
    calls.clear()
    store.check_writable()
    ((_, probe, written),) = calls
    assert probe.startswith("records/.probe.") and written == 5 and not list(store.records.glob(".probe*"))


def test_a_store_that_cannot_be_written_to_is_named(tmp_path, monkeypatch):
    store = Store(tmp_path / "store")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="store is '.*store', which cannot be written to: No space left on device"):
        store.check_writable()
    with pytest.raises(OSError, match="No space left"):
        store.put(record(1))
    assert not store.keys() and not list(tmp_path.rglob("*.part"))
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="store is '.*below', which cannot be made: Not a directory"):
        Store(tmp_path / "file" / "below")
    with pytest.raises(ValueError, match="store is '', but must be the name of a folder"):
        Store("")


def test_only_files_with_the_names_of_records_in_the_right_place_count(tmp_path):
    store = Store(tmp_path)
    store.put(record(1))
    shard, content = file_of(store, 1).parent, file_of(store, 1).read_bytes()
    other = next(name for name in ("aa", "bb") if name != shard.name)
    (store.records / other).mkdir()
    for path in (shard / f"{key(1)}.txt", shard / "short.record", store.records / other / f"{key(1)}.record",
                 store.records / f"{key(1)}.record"):  # fmt: skip
        path.write_bytes(content)
    (store.records / "xy").mkdir()
    (store.records / "xy" / f"{key(1)}.record").write_bytes(content)
    assert store.keys() == {key(1)} and store.get(key(1)) == record(1)


def test_what_a_later_run_left_is_read_and_what_changed_its_stamp_too(tmp_path):
    """Size and time of a file tell whether the index knows it: either alone is enough to read it again."""
    store = Store(tmp_path)
    store.put(record(1, loss=0.25))
    store.summaries()
    state = file_of(store, 1).stat()
    store.put(record(1, loss=0.75))  # of the same size
    assert file_of(store, 1).stat().st_size == state.st_size
    assert store.summaries()[key(1)]["result"]["loss"] == 0.75
    state = file_of(store, 1).stat()
    store.put(record(1, loss=0.5))  # of another size, and given the same time
    os.utime(file_of(store, 1), ns=(state.st_atime_ns, state.st_mtime_ns))
    assert store.summaries()[key(1)]["result"]["loss"] == 0.5


def test_a_store_without_room_for_an_index_can_be_read(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.put(record(1))

    def refused(source, target):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "replace", refused)
    assert list(store.summaries()) == [key(1)] and not list(tmp_path.rglob("*.part"))


def test_one_bad_entry_of_the_index_spoils_no_other(tmp_path, monkeypatch):
    store, file, read = Store(tmp_path), tmp_path / "index.json", []
    for number in (1, 2, 3, 4):
        store.put(record(number))
    expected = store.summaries()
    entries = index.from_bytes(file.read_bytes())
    entries[key(2)] = {"stamp": entries[key(2)]["stamp"]}
    entries[key(3)]["summary"] = []
    entries[key(4)] = 5
    file.write_bytes(index.to_bytes(entries))
    monkeypatch.setattr(Store, "get", lambda self, key, get=Store.get: read.append(key) or get(self, key))
    assert store.summaries() == expected and sorted(read) == sorted(key(number) for number in (2, 3, 4))


def test_no_file_stays_open(tmp_path):
    store = Store(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(5):
        store.put(record(number))
        file_of(store, number + 10).parent.mkdir(exist_ok=True)
        os.mkfifo(file_of(store, number + 10))
        assert store.get(key(number + 10)) is None and store.get(key(number)) == record(number)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_folder_that_another_writer_makes_at_the_same_moment(tmp_path, monkeypatch):
    store = Store(tmp_path)
    file_of(store, 1).parent.mkdir()
    monkeypatch.setattr("pathlib.Path.exists", lambda path: False)  # it was not there a moment ago
    store.put(record(1))
    assert store.get(key(1)) == record(1)
