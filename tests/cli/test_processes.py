"""Commands as processes: requests to end, at good and bad moments, and streams that are closed, full or unread."""

import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import weakref
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest

from loadstone.cli import streams
from loadstone.cli.interrupts import ends_like_an_interrupt
from tests.cli.conftest import LOADSTONE


@pytest.mark.parametrize("words, number", [
    ("capacity --d 40 --seeds 200", signal.SIGINT),
    ("train --d 200 --load 0.9 --out memory.safetensors", signal.SIGTERM),
    pytest.param("train --d 200 --load 0.9 --out memory.safetensors", signal.SIGHUP, marks=pytest.mark.soak),
])  # fmt: skip
def test_a_request_to_end_is_answered_within_seconds_and_leaves_no_file(words, number, tmp_path):
    started = subprocess.Popen(
        [LOADSTONE, *words.split()], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert "d = " in started.stderr.readline()  # it is at work
    started.send_signal(number)
    if number != signal.SIGINT:
        started.send_signal(number)  # a second one does not disturb
    out, err = started.communicate(timeout=60)
    assert started.returncode == 130 and out == "" and list(tmp_path.iterdir()) == []
    assert err.splitlines()[-1] == "loadstone: interrupted; nothing half-written was left behind."


COMPILING = """
import os, signal, sys, threading
import jax, jax.numpy as jnp
from loadstone.cli import app
from loadstone.theory import prediction

def long_to_compile(x):
    for step in range(200):
        x = jnp.sort(x * step)
    return x

lowered = jax.jit(long_to_compile).lower(jnp.ones(4))

def compiling(*_, **__):
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    lowered.compile()

prediction.predict = compiling
sys.argv = ["loadstone", "predict", "--d", "3"]
app.main()
"""


def test_an_interrupt_while_a_program_is_compiled_ends_the_command_without_a_crash():
    """The compiler has threads of its own, which go on when Python is taken down."""
    uncached = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false", "XLA_FLAGS": ""}  # the flags of tests save time
    done = subprocess.run([sys.executable, "-c", COMPILING], capture_output=True, text=True, env=uncached, timeout=300)
    assert done.returncode == 130 and done.stderr == "loadstone: interrupted; nothing half-written was left behind.\n"


LEAVING = """
import atexit, os, signal, sys, time
from loadstone.cli.app import main

def slow():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)

atexit.register(slow)
sys.argv = ["loadstone", "--version"]
main()
"""


def test_an_interrupt_after_the_answer_ends_the_process_without_a_traceback():
    done = subprocess.run([sys.executable, "-c", LEAVING], capture_output=True, text=True, timeout=50)
    assert done.returncode == -signal.SIGINT and done.stdout.startswith("loadstone ") and done.stderr == ""


def is_in_session(process, session):
    """Whether a process has not ended and belongs to the session that another one began."""
    try:
        state, _, _, found = (process / "stat").read_text().rpartition(")")[2].split()[:4]
    except OSError:
        return False  # it has ended meanwhile
    return state != "Z" and int(found) == session


FACTS = "facts store many.csv --vectors w.txt --out new.book"


@pytest.mark.soak
@pytest.mark.parametrize("words", [
    "train --d 60 --p 600 --solver paper --out m.safetensors", "sample --d 8 --p 8", FACTS,
    "facts edit b.book c.csv --vectors v.txt --out b.book", "certify --d 40 --p 330 --out proof.npz",
    "run grid.toml --store new --workers 1", "run grid.toml --store new --workers 2",
])  # fmt: skip
def test_an_interrupt_at_any_moment_ends_a_command_and_leaves_nothing(words, shared_folder, tmp_path):
    """Twenty of each, at moments spread over the time that the command takes; to it alone, or to all its processes."""
    grid = '[[grid]]\nproblem = ["original", "decoupled"]\nd = 20\nload = [0.6, 0.9]\nseeds = 2\n'
    uncached, took = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"}, None
    for number in range(21):
        folder = tmp_path / str(number)
        shutil.copytree(shared_folder, folder)
        (folder / "grid.toml").write_text(grid)
        began = time.monotonic()
        started = subprocess.Popen(
            [LOADSTONE, *words.split()], cwd=folder, env=uncached, start_new_session=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        if took is None:
            assert started.wait(timeout=300) == 0
            took = time.monotonic() - began
        else:
            time.sleep(took * (0.1 + 0.8 * number / 20))
            (os.killpg if number % 2 else os.kill)(started.pid, signal.SIGINT)
        _, err = started.communicate(timeout=60)
        # It may have given its answer; then Python, on its way out, ends by the signal itself.
        assert started.returncode in (130, 0, -signal.SIGINT), (number, started.returncode, err)
        assert "Traceback" not in err or number < 4, err  # early on, Python is still importing the command
        # A worker that is ended while it writes a record may leave its temporary file, which a later sweep removes.
        left = [path.name for path in folder.rglob("*.part") if not re.search(r"\.record\.\d+\.\d+\.part$", path.name)]
        assert not left
        time.sleep(0.5)
        assert not [one for one in Path("/proc").glob("[0-9]*") if is_in_session(one, started.pid)]


def test_signals_are_as_before_after_a_command_and_ignored_ones_stay_ignored(command):
    def handlers():
        return [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]

    before = handlers()
    command("--version")
    assert handlers() == before
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup leaves it
    try:
        with ends_like_an_interrupt():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) not in before
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)  # ignored while the first is being answered
    finally:
        signal.signal(signal.SIGHUP, before[1])
    assert handlers() == before


def test_an_interrupt_at_a_bad_moment_is_raised_at_a_good_one():
    """Python would drop it in the garbage collector or where a weak set forgets what was deleted, and a compiled module
    that is being loaded would crash."""

    class Loader(ExtensionFileLoader):
        def create_module(self, spec):
            signal.raise_signal(signal.SIGTERM)

    def collecting(*_):
        signal.raise_signal(signal.SIGTERM)

    def collect():
        gc.callbacks.append(collecting)
        try:
            gc.collect()
        finally:
            gc.callbacks.remove(collecting)

    class Data(set):
        def discard(self, item):
            signal.raise_signal(signal.SIGTERM)

    def forget():
        known, one = weakref.WeakSet(), Loader("name", "path")
        known.data = Data()
        known.add(one)
        del one

    for bad_moment in (collect, forget, lambda: Loader("name", "path").create_module(None)):
        with ends_like_an_interrupt():
            bad_moment()
            with pytest.raises(KeyboardInterrupt):
                time.sleep(60)


def test_a_module_in_python_is_interrupted_while_it_is_loaded(tmp_path):
    (tmp_path / "endless.py").write_text("import signal\nsignal.raise_signal(signal.SIGTERM)\nreached = True\n")
    spec = spec_from_file_location("endless", tmp_path / "endless.py")
    module = module_from_spec(spec)
    with pytest.raises(KeyboardInterrupt), ends_like_an_interrupt():
        spec.loader.exec_module(module)
    assert not hasattr(module, "reached")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("kind", [RuntimeError, SystemError, TypeError])
def test_an_error_that_was_made_of_an_interrupt_is_the_interrupt(number, kind):
    with pytest.raises(KeyboardInterrupt) as found, ends_like_an_interrupt():
        try:
            signal.raise_signal(number)
        except KeyboardInterrupt:
            raise kind("compiled code failed") from None
    assert isinstance(found.value.__cause__, kind)


def test_other_errors_stay_what_they_are():
    with pytest.raises(RuntimeError, match="of its own"), ends_like_an_interrupt():
        raise RuntimeError("of its own")
    with pytest.raises(ValueError, match="user"), ends_like_an_interrupt():
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise ValueError("a user's mistake") from None


def test_other_threads_set_no_signal_handlers():
    failed = []

    def work():
        try:
            with ends_like_an_interrupt():
                pass
        except ValueError as error:  # as Python refuses handlers there
            failed.append(error)

    (thread := threading.Thread(target=work)).start()
    thread.join()
    assert not failed


def shell(words):
    return subprocess.run(["bash", "-c", f"exec {LOADSTONE} {words}"], capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("words", [
    "predict --d 10 --json", "--version",
    *(pytest.param(words, marks=pytest.mark.soak) for words in ("predict --d 10", "predict --help")),
])  # fmt: skip
def test_an_answer_that_cannot_be_given(words):
    closed, full = shell(f"{words} >&-"), shell(f"{words} >/dev/full")
    for done, sentence in ((closed, "standard output is closed"), (full, "No space left on device")):
        assert done.returncode == 2 and sentence in done.stderr
        assert done.stderr.startswith("loadstone: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("words, unbuffered", [
    ("predict --d 10", ""), ("predict --d 10 --json", "1"),
    *(pytest.param(*one, marks=pytest.mark.soak) for one in (("predict --d 10", "1"), ("predict --d 10 --json", ""))),
])  # fmt: skip
def test_a_reader_that_has_gone_ends_the_command_quietly(words, unbuffered):
    """With a buffer there is something left that Python would try to write when it exits."""
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [LOADSTONE, *words.split()], stdout=writer, stderr=subprocess.PIPE, timeout=100, env=environment
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("where", ["2>&-", pytest.param("2>/dev/full", marks=pytest.mark.soak)])
def test_progress_never_goes_to_standard_output(where):
    done = shell(f"certify --d 3 --p 4 --json {where}")
    assert done.returncode == 0 and json.loads(done.stdout)["d"] == 3, done.stderr
    done = shell(f"predict --d 0 {where}")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_files_are_not_given_the_numbers_of_closed_streams(tmp_path):
    """Otherwise what a library prints would end in the file that is being written."""
    program = "import os, sys\nfrom loadstone.cli.streams import open_streams\nopen_streams()\n"
    program += f"assert open({str(tmp_path / 'file')!r}, 'w').fileno() > 2 and sys.stderr is not None"
    script = tmp_path / "script.py"
    script.write_text(program)
    done = subprocess.run(["bash", "-c", f"exec {sys.executable} {script} <&- >&- 2>&-"], timeout=60)
    assert done.returncode == 0


def test_a_home_that_is_not_there():
    """Neither a folder, nor a name for it, nor an entry among the users."""
    program = "import os, pwd, sys\nos.environ.pop('HOME', None), os.environ.pop('XDG_CACHE_HOME', None)\n"
    program += "def nobody(uid):\n    raise KeyError(uid)\npwd.getpwuid = nobody\n"
    program += "from loadstone.cli.app import main\nmain()"
    start = [sys.executable, "-c", program, "certify", "--d", "3", "--p", "4", "--json"]
    done = subprocess.run(start, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and json.loads(done.stdout)["d"] == 3, done.stderr


class Full:
    """A stream that cannot be written."""

    def __init__(self, error):
        self.error = error

    def flush(self):
        raise self.error


@pytest.mark.parametrize("error, sentence", [
    (OSError(28, "No space left"), "standard output cannot be written to: No space left."), (OSError("it"), "^it$"),
])  # fmt: skip
def test_an_answer_that_cannot_be_written_is_an_error(error, sentence, monkeypatch):
    monkeypatch.setattr(sys, "stdout", Full(error))
    with pytest.raises(OSError, match=sentence), streams.answering():
        pass
    monkeypatch.setattr(sys, "stdout", Full(BrokenPipeError(32, "Broken pipe")))
    with pytest.raises(BrokenPipeError) as found, streams.answering():
        pass
    assert found.value.errno is None


def test_a_stream_that_is_full_is_silenced(tmp_path, monkeypatch):
    with open(tmp_path / "out", "w") as stream:
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(flush=Full(OSError(28, "full")).flush, fileno=stream.fileno))
        before = os.listdir("/proc/self/fd")
        streams.drop_unwritten()
        streams.open_streams()  # there is nothing to be opened
        assert os.listdir("/proc/self/fd") == before
        os.write(stream.fileno(), b"lost")
    assert (tmp_path / "out").read_text() == ""
    with pytest.raises(OSError, match="standard output is closed"):
        streams.ClosedOutput().write("an answer")
