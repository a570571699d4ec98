"""What killed processes leave behind is removed by the next one, and what living ones need is not."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from loadstone.files import write_whole
from loadstone.leftovers import temporary_folder

WRITER = """
import sys, time
from loadstone.files import write_whole
def write(file):
    file.write(b"half")
    file.flush()
    print("begun", flush=True)
    sys.stdin.read()
write_whole(sys.argv[1], write)
"""
WORKER = """
import sys
from loadstone.leftovers import temporary_folder
with temporary_folder() as folder:
    open(folder + "/program", "w").close()
    print("begun", flush=True)
    sys.stdin.read()
"""


def begun(code, *arguments, **environment):
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | environment,
    )  # fmt: skip
    assert process.stdout.readline() == b"begun\n"
    return process


def killed(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()


def made_old(path):
    os.utime(path, (time.time() - 100,) * 2)


def test_a_killed_writers_file_is_removed_at_the_next_write_and_a_living_ones_is_not(tmp_path):
    writer = begun(WRITER, tmp_path / "one")
    (part,) = tmp_path.iterdir()
    made_old(part)
    write_whole(tmp_path / "two", lambda file: file.write(b"whole"))
    assert part.read_bytes() == b"half"
    killed(writer)
    assert set(tmp_path.iterdir()) == {part, tmp_path / "two"}
    write_whole(tmp_path / "two", lambda file: file.write(b"whole"))
    assert list(tmp_path.iterdir()) == [tmp_path / "two"]


def test_a_stopped_writer_finishes_its_file_later(tmp_path):
    writer = begun(WRITER, tmp_path / "one")
    (part,) = tmp_path.iterdir()
    writer.send_signal(signal.SIGSTOP)
    made_old(part)
    write_whole(tmp_path / "two", lambda file: file.write(b"whole"))
    writer.send_signal(signal.SIGCONT)
    writer.communicate()
    assert writer.returncode == 0 and {path.name for path in tmp_path.iterdir()} == {"one", "two"}


NAME = ".loadstone-0123456789abcdef.part"
KINDS = {
    "file": Path.touch,
    "folder": Path.mkdir,
    "link": lambda path: path.symlink_to(path.with_name("target")),
    "pipe": os.mkfifo,
}


@pytest.mark.parametrize("name, kind, seconds, goes", [
    (NAME, "file", 100, True), (NAME, "file", 0, False), (NAME, "folder", 100, False), (NAME, "link", 100, False),
    (NAME, "pipe", 100, False), (".loadstone-0123.part", "file", 100, False), ("loadstone.part", "file", 100, False),
])  # fmt: skip
def test_only_old_files_of_such_names_are_removed(name, kind, seconds, goes, tmp_path):
    path, target = tmp_path / name, tmp_path / "target"
    target.touch()
    KINDS[kind](path)
    for each in (path, target):
        os.utime(each, (time.time() - seconds,) * 2, follow_symlinks=False)
    write_whole(tmp_path / "file", lambda file: None)
    assert os.path.lexists(path) != goes and target.exists()


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_for_a_while_is_private_whatever_the_umask_and_removed(place):
    before = os.umask(0)
    try:
        with temporary_folder() as folder:
            assert Path(folder).parent == place and stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    finally:
        os.umask(before)
    assert not list(place.iterdir())


def test_the_folder_of_a_killed_process_is_removed_by_the_next_and_a_living_ones_is_not(place):
    worker = begun(WORKER, TMPDIR=str(place))
    (folder,) = place.iterdir()
    made_old(folder)
    with temporary_folder():
        assert (folder / "program").exists()
    killed(worker)
    with temporary_folder() as own:
        assert [str(path) for path in place.iterdir()] == [own]
