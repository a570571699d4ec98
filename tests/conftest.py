"""Strict settings for every test: true annotations, no silent broadcasting between ranks, the same examples always."""

import atexit
import functools
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import jax
import pytest
from hypothesis import settings
from jax._src.interpreters import mlir

from tests.array_annotations import check_arrays_in, modules_with_arrays, spare_functions_without_arrays

# Before anything of the package is imported. Modules without arrays are left out: checking them would take much time.
ROOMS = ["kernels", "measurements", "memories", "problems", "proofs", "solvers", "space", "streams", "tasks"]
# Theory calls its small functions so often that to check them takes a third of its tests' time: `make soak` does.
check_arrays_in(modules_with_arrays([*ROOMS, "theory"] if "LOADSTONE_SOAK" in os.environ else ROOMS))

from loadstone.cli.app import main  # noqa: E402

# Modules and tests stay to the end: to look through them again and again for garbage takes a twentieth of the time.
gc.set_threshold(20_000, 20, 20)
# JAX makes a place of its own for each program that it writes for the compiler. To make it takes longer than to write a
# small program, and the thousands of programs here can share one.
mlir.make_ir_context = functools.cache(mlir.make_ir_context)

jax.config.update("jax_numpy_rank_promotion", "raise")
# Programs do not say which lines they come from, which nobody reads and takes a twentieth of the time of many tests.
# Commands that tests start are told by the environment.
jax.config.update("jax_traceback_in_locations_limit", 0)
os.environ["JAX_TRACEBACK_IN_LOCATIONS_LIMIT"] = "0"
# The first call of a compiled function takes seconds, so examples have no deadline.
settings.register_profile("strict", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("strict")

# Many tests compile the same programs, and so do the commands that they run: the processes of one suite share them.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    programs = tempfile.mkdtemp(prefix="loadstone-programs-")
    os.environ |= {"JAX_COMPILATION_CACHE_DIR": programs, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    atexit.register(shutil.rmtree, programs, ignore_errors=True)

# A suite started in the background, or with nohup, inherits signals that are ignored, and so would the commands that
# tests interrupt.
for chosen, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(chosen) == signal.SIG_IGN:
        signal.signal(chosen, usual)


#: Where one process works or waits for long, so that the others should not have to wait for it at the end.
LONGEST = ["runs/test_dask.py", "runs/test_one_machine.py", "studies/test_registry.py", "problems/test_spread.py"]


def pytest_collection_modifyitems(items):
    def place(item):
        name = "/".join(item.path.parts[-2:])
        return LONGEST.index(name) if name in LONGEST else len(LONGEST)

    items.sort(key=place)


def pytest_collection_finish():
    spare_functions_without_arrays()
    gc.freeze()


@pytest.fixture
def command(monkeypatch, capfd):
    """Run a command in this process, to test refusals: starting a process takes a hundred times as long."""

    def run(*arguments, cwd=None):
        if cwd:
            monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["loadstone", *map(str, arguments)])
        monkeypatch.setattr("loadstone.cli.app.leave_at_once", sys.exit)  # it would end the tests as well
        with pytest.raises(SystemExit) as end:
            main()
        return subprocess.CompletedProcess(arguments, end.value.code or 0, *capfd.readouterr())

    return run


_MISSING = "No Chromium was found: install it (Debian and Ubuntu: apt-get install chromium) to test the pages."
#: No sandbox, for containers that run as root; the pages are our own, and nothing may go out.
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


@pytest.fixture(scope="session")
def browser():
    """A real browser for the pages. Without one these tests are skipped, but with LOADSTONE_BROWSER set they fail."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        if os.environ.get("LOADSTONE_BROWSER"):
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield running
        running.close()
