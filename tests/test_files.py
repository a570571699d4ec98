"""Files are written whole or not at all, by several writers at once too; what cannot be written is refused first."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from loadstone.files import check_writable, version_of, write_whole

LOADSTONE = Path(sys.executable).with_name("loadstone")
#: A user without rights, to whom root can turn.
NOBODY = 65534


def test_two_threads_may_save_to_one_path(tmp_path):
    path = tmp_path / "one.bin"
    together = threading.Barrier(2)

    def save(letter):
        def write(file):
            # Both have their temporary file open now, and write in turns.
            together.wait(timeout=30)
            for _ in range(200):
                file.write(letter * 1000)
                file.flush()

        for _ in range(5):
            write_whole(path, write)
            content = path.read_bytes()
            assert len(content) == 200_000 and len(set(content)) == 1

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(save, letter) for letter in (b"a", b"b")]:
            done.result(timeout=60)
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "kept"
    write_whole(path, lambda file: file.write(b"old"))

    def fail(file):
        file.write(b"new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, fail)
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_usual_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "file", lambda file: file.write(b"x"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_a_read_only_file_is_replaced_and_a_name_may_be_as_long_as_names_can_be(tmp_path):
    path = tmp_path / ("n" * 255)
    path.write_bytes(b"old")
    path.chmod(0o444)
    assert check_writable(str(path)) == path
    write_whole(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    path, seen = tmp_path / "file", []
    path.write_bytes(b"old")
    path.chmod(mode)

    def write(file):
        file.write(b"new")
        seen.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode))

    write_whole(path, write)
    assert path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == mode
    assert seen == [0o600]  # while it is written, nobody else may read what may be private


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_that_root_replaces_keeps_its_owner(tmp_path):
    path = tmp_path / "file"
    path.touch(0o640)
    os.chown(path, NOBODY, NOBODY)
    write_whole(path, lambda file: file.write(b"new"))
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (NOBODY, NOBODY, 0o640)


def test_a_symbolic_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("other")
    (tmp_path / "other").symlink_to(tmp_path / "there" / "file")
    for content in (b"first", b"second"):  # at first the target is not there yet
        write_whole(tmp_path / "link", lambda file: file.write(content))  # noqa: B023 (called at once)
        assert (tmp_path / "there" / "file").read_bytes() == content
    assert (tmp_path / "link").is_symlink() and (tmp_path / "other").is_symlink()
    assert not list(tmp_path.rglob("*.part"))
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere" / "file")
    (tmp_path / "ring").symlink_to("ring")
    with pytest.raises(FileNotFoundError, match="nowhere is not a folder: make it first"):
        check_writable(tmp_path / "lost")
    with pytest.raises(OSError, match="ring cannot be the name of a file .Too many levels of symbolic links"):
        check_writable(tmp_path / "ring")


def test_a_file_that_has_changed_since_it_was_read_is_left_as_it_is(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    link.symlink_to(path)
    for name in (path, link):
        read = version_of(name)
        write_whole(name, lambda file: file.write(b"one more"), replacing=read)
        with pytest.raises(FileExistsError, match="has changed since it was read, and was left as it is: start again"):
            write_whole(name, lambda file: file.write(b"another"), replacing=read)
        assert path.read_bytes() == b"one more"
    read = version_of(path)
    path.unlink()
    with pytest.raises(FileExistsError, match="has changed since it was read"):
        write_whole(path, lambda file: file.write(b"another"), replacing=read)
    assert list(tmp_path.iterdir()) == [link]


def test_of_many_writers_that_have_read_the_same_version_one_writes(tmp_path):
    path, together = tmp_path / "file", threading.Barrier(8)
    path.write_bytes(b"0")

    def add_one(_):
        read, number = version_of(path), int(path.read_bytes())
        together.wait(timeout=30)
        try:
            write_whole(path, lambda file: file.write(b"%d" % (number + 1)), replacing=read)
        except FileExistsError:
            return 0
        return 1

    for begun in range(10):
        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(add_one, range(8))) == 1
        assert path.read_bytes() == b"%d" % (begun + 1)


@pytest.mark.parametrize("name, kind, sentence", [
    ("", ValueError, "file is '', but must be the name of a file"),
    ("a\0b", ValueError, "but must be the name of a file"),
    ("a" * 128 + "b" * 128, OSError,
     rf"^{'a' * 40}\.\.\.{'b' * 40} cannot be the name of a file \(File name too long\): give another"),
    ("nowhere/file", FileNotFoundError, "nowhere is not a folder: make it first"),
    ("plain/file", FileNotFoundError, "plain is not a folder"),
    ("folder", IsADirectoryError, "folder is a folder: give the name of a file"),
    ("pipe", FileExistsError, "pipe is a device or a pipe"),
])  # fmt: skip
def test_names_that_cannot_be_written_are_refused_before_any_work(tmp_path, monkeypatch, name, kind, sentence):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("plain").touch()
    os.mkfifo("pipe")
    before = sorted(tmp_path.iterdir())
    for refuse in (check_writable, lambda path: write_whole(path, lambda file: pytest.fail("work was done"))):
        with pytest.raises(kind, match=sentence):
            refuse(name)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can turn into another user")
@pytest.mark.parametrize("mode, theirs, sentence", [
    (0o1777, True, "file belongs to another user and cannot be replaced: write elsewhere"),
    (0o1777, False, ""), (0o777, True, ""),
    (0o755, True, "cannot be written to (Permission denied): write elsewhere"),
])  # fmt: skip
def test_a_folder_that_guards_its_files_is_recognised(tmp_path, mode, theirs, sentence):
    """As another user, in a sticky folder (like /tmp), an open one and one that is read-only."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").touch()
    os.chown(folder / "file", *((0, 0) if theirs else (NOBODY, NOBODY)))
    folder.chmod(mode)
    readable = Path("/")
    for part in folder.parts[1:-1]:
        readable /= part
        readable.chmod(readable.stat().st_mode | 0o011)
    found = _as_nobody(f"check_writable({str(folder / 'file')!r})")
    assert sentence in found and (sentence or found == "")
    # The system agrees.
    replaced = _as_nobody(f"open('{folder}/new', 'x').close(); os.replace('{folder}/new', '{folder}/file')")
    assert (replaced == "") == (sentence == "")
    assert {path.name for path in folder.iterdir()} <= {"file", "new"}


def _as_nobody(action: str) -> str:
    """What an action raises, as words, in a process without rights."""
    code = f"""
import os
from loadstone.files import check_writable
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
try:
    {action}
except OSError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


OTHER_SIGNALS = [pytest.param(one, marks=pytest.mark.soak) for one in (signal.SIGHUP, signal.SIGINT)]


@pytest.mark.parametrize("number", [signal.SIGTERM, *OTHER_SIGNALS])
def test_a_signal_while_an_instance_is_written_leaves_nothing(tmp_path, number):
    command = [LOADSTONE, "instance", "--problem", "decoupled", "--d", "40", "--p", "1200", "--out", "big.npz"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    # An empty one may be the probe that comes before the work.
    while not any(path.stat().st_size for path in tmp_path.glob(".*.part") if path.exists()):
        assert process.poll() is None and time.monotonic() < until, process.stderr.read()
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in err and "Traceback" not in err
    assert not list(tmp_path.iterdir())
