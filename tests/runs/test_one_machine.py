"""Sweeps on one machine, in this process or through Dask: complete, repeatable, and intact however they end. Real
processes, real signals."""

import asyncio
import http.client
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from distributed.core import connect
from distributed.security import Security

from loadstone.runs.engines import this_machine
from loadstone.runs.engines.dask import DaskEngine, ThisMachine
from loadstone.runs.engines.this_machine import environment
from loadstone.runs.grid import read_grid
from loadstone.runs.record import _header
from loadstone.runs.store import Store
from loadstone.runs.sweep import run_sweep
from tests.runs.faults import (
    GRID,
    LOADSTONE,
    finish,
    grid_file,
    past_its_start,
    results,
    run,
    serial,
    start,
    wait_until,
    workers_of,
)

#: One run that takes far longer than any test.
SOAK = pytest.mark.soak
ENDLESS = '[[grid]]\nproblem = "original"\nd = 100\np = 2000\nsteps = 100000\nstop = "none"\n'


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    return grid_file(tmp_path_factory.mktemp("grid"))


@pytest.fixture(scope="module")
def expected(grid):
    return serial(grid)


def filled(grid, folder, workers):
    store = Store(folder)
    code, out, err = run("run", grid, "--store", store.folder, "--workers", workers, "--json")
    return store, code, json.loads(out), err


@pytest.fixture(scope="module")
def finished(grid, tmp_path_factory):
    """A store that a sweep with two workers filled."""
    return filled(grid, tmp_path_factory.mktemp("finished") / "store", 2)


def copy_of(store, folder):
    for key in store.keys():
        Store(folder).put(store.get(key))
    return Store(folder)


@pytest.mark.parametrize("workers", [1, 2])
def test_both_engines_give_the_records_of_a_serial_run_to_the_last_bit(workers, finished, grid, expected, tmp_path):
    store, code, outcome, err = finished if workers == 2 else filled(grid, tmp_path / "store", 1)
    assert code == 0 and results(store) == expected
    assert outcome["total"] == outcome["done"] == 12 and outcome["complete"] and not outcome["failed"]
    assert "12 runs: 0 were recorded before, 12 done" in err and "0/12 runs" in err
    # No library prints anything, in particular not Dask.
    assert all("runs" in line for line in err.splitlines()), err


def test_starting_again_does_nothing_more(finished, grid, told):
    before = {path: path.stat().st_mtime_ns for path in finished[0].records.rglob("*.record")}
    code, out, _ = told("run", grid, "--store", finished[0].folder, "--workers", 1, "--json")
    assert code == 0 and json.loads(out)["done"] == 0 and json.loads(out)["before"] == 12
    assert before == {path: path.stat().st_mtime_ns for path in finished[0].records.rglob("*.record")}


def test_a_damaged_record_is_set_aside_reported_and_run_again(finished, grid, expected, tmp_path, told):
    store = copy_of(finished[0], tmp_path / "store")
    path = next(store.records.rglob("*.record"))
    path.write_bytes(path.read_bytes()[:-7])
    code, out, err = told("run", grid, "--store", store.folder, "--workers", 1, "--json")
    assert code == 0 and json.loads(out)["done"] == json.loads(out)["quarantined"] == 1
    assert "1 damaged records were set aside" in err and results(store) == expected
    code, out, _ = told("status", grid, "--store", store.folder, "--json")
    assert (json.loads(out)["done"], json.loads(out)["missing"], json.loads(out)["quarantined"]) == (12, 0, 1)


def test_a_record_that_describes_another_run_is_not_believed(finished, grid, expected, tmp_path, told):
    store = copy_of(finished[0], tmp_path / "store")
    record = store.get(next(iter(expected)))
    store.put(replace(record, spec=record.spec | {"d": 999}))
    code, out, _ = told("run", grid, "--store", store.folder, "--workers", 1, "--json")
    assert code == 0 and json.loads(out)["done"] == json.loads(out)["quarantined"] == 1 and results(store) == expected


@pytest.mark.parametrize("engine", ["process", pytest.param("dask", marks=SOAK)])
def test_files_in_the_current_folder_do_not_pass_for_modules(engine, finished, grid, tmp_path):
    store = copy_of(finished[0], tmp_path / "store")
    next(store.records.rglob("*.record")).unlink()
    for name in ("optax", "socket", "selectors"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w')")
    assert run("run", grid, "--store", store.folder, "--workers", 1, "--engine", engine, cwd=tmp_path)[0] == 0
    assert not (tmp_path / "executed").exists()


def test_status_counts_and_guesses_the_time_left(finished, grid, tmp_path, told):
    store = copy_of(finished[0], tmp_path / "store")
    gone = sorted(store.records.rglob("*.record"))[:3]
    for path in gone:
        path.unlink()
    status = json.loads(told("status", grid, "--store", store.folder, "--json")[1])
    assert (status["total"], status["done"], status["missing"]) == (12, 9, 3) and status["statuses"] == {
        "step limit": 9
    }
    halved = json.loads(told("status", grid, "--store", store.folder, "--workers", 2, "--json")[1])
    assert halved["seconds_left"] == pytest.approx(status["seconds_left"] / 2) and status["seconds_left"] > 0
    # A run somewhere else says nothing about the pace here.
    elsewhere = store.get(min(store.keys()))
    store.put(replace(elsewhere, circumstances=elsewhere.circumstances | {"device": "another", "seconds": 1e6}))
    assert json.loads(told("status", grid, "--store", store.folder, "--json")[1])["seconds_left"] < 100
    shown = told("status", "--store", store.folder)[1]
    assert "records" in shown and "missing" not in shown  # without a grid nothing can be missing


@pytest.mark.parametrize("workers", [pytest.param(1, marks=SOAK), 2])
def test_a_killed_driver_loses_only_the_runs_in_flight(workers, grid, expected, tmp_path, told):
    store = Store(tmp_path / "store")
    driver = start("run", grid, "--store", store.folder, "--workers", workers)
    wait_until(lambda: len(store.keys()) >= 4)
    processes = workers_of(driver)
    driver.kill()
    finish(driver)
    # Its workers notice within moments and end, in the middle of a run if need be.
    assert len(processes) == (2 if workers == 2 else 0) and not psutil.wait_procs(processes, timeout=20)[1]
    kept = {path: path.stat().st_mtime_ns for path in store.records.rglob("*.record")}
    code, out, _ = told("run", grid, "--store", store.folder, "--workers", 1, "--json")
    assert code == 0 and json.loads(out)["before"] == len(kept) and json.loads(out)["done"] == 12 - len(kept)
    assert results(store) == expected and not store.quarantined()
    assert kept.items() <= {path: path.stat().st_mtime_ns for path in store.records.rglob("*.record")}.items()


@SOAK
def test_killed_workers_are_replaced(expected, grid, tmp_path):
    store = Store(tmp_path / "store")
    driver = start("run", grid, "--store", store.folder, "--workers", 2, "--json")
    # The first worker is killed before it is ready; the others while they work.
    wait_until(lambda: workers_of(driver))[0].kill()
    for count in (1, 4, 7):
        wait_until(lambda: len(store.keys()) >= count)  # noqa: B023
        workers_of(driver)[0].kill()
    code, out, err = finish(driver)
    assert code == 0 and results(store) == expected, err
    assert 2 <= json.loads(out)["lost_workers"] <= 3 and "workers were lost" in err


@pytest.mark.parametrize("chosen, workers", [pytest.param(signal.SIGTERM, 1, marks=SOAK), (signal.SIGINT, 2)])
def test_an_interrupt_is_clean(chosen, workers, grid, expected, tmp_path, told):
    store = Store(tmp_path / "store")
    # A terminal sends Ctrl-C to all processes of a group.
    driver = start("run", grid, "--store", store.folder, "--workers", workers, start_new_session=True)
    wait_until(lambda: len(store.keys()) >= 2)
    processes = workers_of(driver)
    os.killpg(driver.pid, chosen) if chosen == signal.SIGINT else driver.send_signal(chosen)
    code, _, err = finish(driver, 30)
    assert code == 130 and "runs are recorded; start again" in err
    assert all("runs" in line or "interrupted" in line for line in err.splitlines()), err
    assert len(processes) == (2 if workers == 2 else 0) and not any(one.is_running() for one in processes)
    assert told("run", grid, "--store", store.folder, "--workers", 1)[0] == 0 and results(store) == expected


def test_an_interrupt_before_the_workers_are_there(grid, tmp_path):
    driver = start("run", grid, "--store", tmp_path / "store", "--workers", 2, start_new_session=True)
    processes = wait_until(lambda: workers_of(driver))
    os.killpg(driver.pid, signal.SIGINT)
    code, _, err = finish(driver, 30)
    assert code == 130 and "0 of 12 runs are recorded" in err and "Traceback" not in err
    assert not any(one.is_running() for one in processes)


@pytest.mark.soak
def test_an_interrupt_is_heard_in_the_middle_of_a_long_run(tmp_path):
    grid = grid_file(tmp_path, text=ENDLESS)
    driver = start("run", grid, "--store", tmp_path / "store", "--workers", 1)
    wait_until(lambda: past_its_start(psutil.Process(driver.pid), 5))
    driver.send_signal(signal.SIGINT)
    began = time.monotonic()
    code, _, err = finish(driver, 30)
    assert code == 130 and "0 of 1 runs are recorded" in err and time.monotonic() - began < 8, err


@pytest.mark.parametrize("workers", [(1, 1), pytest.param((1, 2), marks=SOAK)])
def test_two_drivers_on_one_store(workers, grid, expected, tmp_path):
    store = Store(tmp_path / "store")
    drivers = [start("run", grid, "--store", store.folder, "--workers", number) for number in workers]
    for driver in drivers:
        assert finish(driver)[0] == 0
    assert results(store) == expected and not store.quarantined()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=SOAK)])
def test_a_full_disk_ends_the_sweep_with_a_sentence_and_leaves_no_half_record(workers, grid, tmp_path):
    """A limit on the size of files is what a full disk looks like to a writer: a write that fails halfway."""
    store = Store(tmp_path / "store")
    program = "import os, resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    program += "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", program, str(LOADSTONE), "run", str(grid), "--store", str(store.folder)]
    done = subprocess.run([*command, "--workers", str(workers)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 1 and "cannot be written" in done.stderr and "File too large" in done.stderr
    assert "Traceback" not in done.stderr and not store.keys() and not list(store.folder.rglob("*.part"))


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(grid, told):
    code, out, err = told("run", grid, "--store", "/proc/store")
    assert code == 2 and "store is '/proc/store', which cannot be made" in err and err.count("\n") == 1


def test_failed_runs_are_reported_and_not_kept(grid, tmp_path, told):
    code, out, err = told("run", grid, "--store", tmp_path / "store", "--workers", 1, "--budget", "1kB", "--json")
    outcome = json.loads(out)
    assert code == 1 and outcome["missing"] == 12 and len(outcome["failed"]) == 12 and not outcome["complete"]
    assert "raise the budget" in err and "2 more" in err and not Store(tmp_path / "store").keys()


def test_diverged_runs_are_kept_as_diverged(tmp_path, told):
    text = GRID.replace("{seeds}", "1") + "learning_rate = 1e38\nwarmup = 0\n"
    text = text.replace('["original", "decoupled"]', '"original"')
    grid = grid_file(tmp_path, text=text.replace("{", "{{").replace("}", "}}"))
    code, out, err = told("run", grid, "--store", tmp_path / "store", "--workers", 1, "--json")
    assert code == 0 and json.loads(out)["diverged"] == 1 and "diverged" in err
    assert json.loads(told("status", grid, "--store", tmp_path / "store", "--json")[1])["diverged"] == 1


@SOAK
def test_a_run_that_brings_down_its_workers_fails_and_the_others_do_not(tmp_path):
    """One run is far too long, and the worker that does it is killed, three times."""
    text = '[[grid]]\nproblem = "original"\nd = 12\np = 30\nseeds = 2\nsteps = 50\n'
    text += '[[grid]]\nproblem = "original"\nd = 200\np = 4000\nsteps = 100000\nstop = "none"\n'
    grid = grid_file(tmp_path, text=text)
    store = Store(tmp_path / "store")
    driver = start("run", grid, "--store", store.folder, "--workers", 2, "--json")
    wait_until(lambda: len(store.keys()) == 2)
    for _ in range(3):
        (worker,) = wait_until(lambda: [one for one in workers_of(driver) if past_its_start(one, 5)])
        worker.kill()
        wait_until(lambda: not worker.is_running())  # noqa: B023
    code, out, err = finish(driver)
    outcome = json.loads(out)
    assert code == 1 and outcome["missing"] == 1 and outcome["lost_workers"] == 3 and len(store.keys()) == 2
    assert "d = 200, p = 4000, paper, seed 0: 3 workers died on it" in err


def test_workers_share_a_gpu_and_leave_its_host_a_core(monkeypatch):
    monkeypatch.setattr(this_machine.os, "sched_getaffinity", {0: range(16)}.get)  # of this process
    told = []
    for gpu in (False, True):
        monkeypatch.setattr(this_machine, "gpu_expected", lambda gpu=gpu: gpu)
        told += [environment(workers, "folder", {}) for workers in (1, 2)]
    assert [one["OPENBLAS_NUM_THREADS"] for one in told] == ["16", "8", "1", "1"]
    assert [one["NPROC"] for one in told] == ["16", "8"] * 2
    assert [one.get("XLA_PYTHON_CLIENT_MEM_FRACTION") for one in told] == [None, "0.3750"] * 2
    assert {one["JAX_COMPILATION_CACHE_DIR"] for one in told} == {"folder/programs"}
    # What the user has set comes first, and JAX refuses both names of one setting.
    mine = environment(2, "folder", {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.4", "JAX_COMPILATION_CACHE_DIR": "mine"})
    assert mine["XLA_PYTHON_CLIENT_MEM_FRACTION"] == "0.4" and mine["JAX_COMPILATION_CACHE_DIR"] == "mine"
    assert "XLA_PYTHON_CLIENT_MEM_FRACTION" not in environment(2, "folder", {"XLA_CLIENT_MEM_FRACTION": "0.4"})


def test_workers_that_never_start_end_the_sweep(grid, tmp_path, monkeypatch, capfd):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\nif 'spawn_main' in ' '.join(sys.orig_argv):\n"
        "    print('the library is missing', file=sys.stderr, flush=True)\n    os._exit(1)\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    before = dict(os.environ)
    outcome = run_sweep(read_grid(grid), Store(tmp_path / "store"), DaskEngine(ThisMachine(2)))
    assert not outcome.complete and "no worker starts" in outcome.stopped
    assert dict(os.environ) == before and "the library is missing" in capfd.readouterr().err


def test_nobody_else_on_this_machine_can_talk_to_the_workers():
    """They listen only on the loopback, and only to clients with the certificate of this sweep."""
    machine = ThisMachine(1)
    client = machine.connect(1)
    try:
        client.wait_for_workers(1, timeout=60)
        (worker,) = workers_of(psutil.Process())
        sockets = [*psutil.Process().net_connections("inet"), *worker.net_connections("inet")]
        listening = {one.laddr.ip for one in sockets if one.status == psutil.CONN_LISTEN}
        assert listening == {"127.0.0.1"} and client.scheduler.address.startswith("tls://127.0.0.1:")
        for security in (Security(), Security.temporary()):
            address = client.scheduler.address.replace("tls", "tls" if security.require_encryption else "tcp")
            with pytest.raises((OSError, TimeoutError)):
                asyncio.run(connect(address, timeout=2, **security.get_connection_args("client")))
    finally:
        machine.close(client)
    assert not worker.is_running()


def test_what_the_workers_have_compiled_lies_where_nobody_else_can_enter_whatever_the_umask(monkeypatch):
    """And nothing of what they do is shown to who asks by HTTP."""
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    before, machine = os.umask(0), ThisMachine(1)
    try:
        client = machine.connect(1)
        try:
            client.wait_for_workers(1, timeout=60)
            (programs,) = client.run(_compiles).values()
            assert Path(programs).name == "programs" and list(Path(programs).iterdir())
            folder = Path(programs).parent.stat()
            assert stat.S_IMODE(folder.st_mode) == 0o700 and folder.st_uid == os.geteuid()
            (worker,) = workers_of(psutil.Process())
            sockets = [*psutil.Process().net_connections("inet"), *worker.net_connections("inet")]
            answers = [_asked(one.laddr.port) for one in sockets if one.status == psutil.CONN_LISTEN]
            assert answers.count(404) == 2 and set(answers) == {404, None}
        finally:
            machine.close(client)
    finally:
        os.umask(before)
    assert not Path(programs).parent.exists()


def _compiles():
    import jax

    jax.jit(lambda x: x + 1)(1.0).block_until_ready()
    return os.environ["JAX_COMPILATION_CACHE_DIR"]


def _asked(port):
    """The status with which a port answers every page that Dask has; None if it does not speak HTTP."""
    pages = ("", "info/main/workers.html", "info/main/logs.html", "json/identity.json", "health", "metrics", "status")
    found = set()
    for page in pages:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", f"/{page}")
            found.add(connection.getresponse().status)
        except (OSError, http.client.HTTPException):
            found.add(None)
        finally:
            connection.close()
    (status,) = found
    return status


def test_a_worker_that_is_stopped_is_replaced_and_its_runs_are_done(tmp_path):
    """Stopped, not killed: it would never end, and its runs neither. There are enough runs to stop it amid them."""
    text = '[[grid]]\nproblem = "original"\nd = 10\np = 30\nseeds = 40\nsteps = 1500\nwarmup = 1\n'
    specs = read_grid(grid_file(tmp_path, text=text))
    stopped = []

    def watch(progress):
        if progress.done and not stopped:
            stopped.extend(workers_of(psutil.Process()))
            stopped[0].send_signal(signal.SIGSTOP)

    store = Store(tmp_path / "store")
    outcome = run_sweep(specs, store, DaskEngine(ThisMachine(1, standstill=3)), watch)
    assert outcome.complete and not outcome.failed and outcome.lost_workers == 1
    assert not stopped[0].is_running() and set(store.keys()) == {spec.key for spec in specs}


def test_a_record_of_a_later_version_stops_the_sweep(finished, grid, tmp_path, told):
    store = copy_of(finished[0], tmp_path / "store")
    path = next(store.records.rglob("*.record"))
    body = path.read_bytes().split(b"\n", 1)[1]
    path.write_bytes(_header(2, body) + body)
    code, _, err = told("run", grid, "--store", store.folder)
    assert code == 2 and "its schema is 2" in err and err.count("\n") == 1 and path.exists()


@SOAK
def test_the_driver_takes_less_than_ten_milliseconds_a_run(tmp_path):
    """Processor time of the driver, its scheduler included, and of the durable write; the workers' own time is not the
    engine's."""
    text = '[[grid]]\nproblem = "original"\nd = 6\np = 8\nseeds = 300\nsteps = 5\nwarmup = 1\n'
    specs = read_grid(grid_file(tmp_path, text=text))
    store = Store(tmp_path / "store")
    before = []

    def watch(progress):
        if progress.current and not before:  # from when the workers are there
            before.append(resource.getrusage(resource.RUSAGE_SELF))

    outcome = run_sweep(specs, store, DaskEngine(ThisMachine(1)), watch)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert outcome.complete
    driver = (after.ru_utime + after.ru_stime - before[0].ru_utime - before[0].ru_stime) / 300
    record = store.get(specs[0].key)
    began = time.process_time()
    for _ in range(50):
        store.put(record)
    write = (time.process_time() - began) / 50
    assert driver + write < 0.010
    print(f"driver {1e3 * driver:.2f} ms and write {1e3 * write:.2f} ms of processor time a run")


def without_dask(*arguments, **options):
    """A command where Dask is not installed."""
    program = "import sys; sys.modules['distributed'] = None\n"
    program += "import importlib.util; found = importlib.util.find_spec\n"
    program += "importlib.util.find_spec = lambda name, *more: None if name == 'distributed' else found(name, *more)\n"
    program += "from loadstone.cli.app import main; main()"
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, **options)


@pytest.mark.soak
def test_without_dask_there_is_one_worker_and_a_sentence_for_more(tmp_path):
    grid = grid_file(tmp_path, seeds=1)
    done = without_dask("run", grid, "--store", "s", "--workers", 2, cwd=tmp_path)
    assert done.returncode == 2 and "pip install 'loadstone[cluster]'" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "s").exists()
    assert without_dask("run", grid, "--store", "s", cwd=tmp_path).returncode == 0
    assert len(Store(tmp_path / "s").keys()) == 2


@SOAK
def test_one_worker_does_not_import_dask(tmp_path):
    program = "import sys\ntry:\n    from loadstone.cli.app import main; main()\n"
    program += "except SystemExit as end:\n    sys.exit(end.code or ('distributed' in sys.modules) * 7)"
    grid = grid_file(tmp_path, seeds=1)
    for workers, code in ((1, 0), (2, 7)):
        command = [sys.executable, "-c", program, "run", grid, "--store", tmp_path / str(workers), "--workers", workers]
        assert subprocess.run(list(map(str, command)), capture_output=True, timeout=200).returncode == code


BAD = {
    "unknown engine": (["run", "accuracy", "--store", "s", "--engine", "slurm"], "engine is 'slurm'"),
    "no workers": (["run", "accuracy", "--store", "s", "--workers", 0], "workers is 0"),
    "unknown name": (["run", "acuracy", "--store", "s"], "did you mean 'accuracy'?"),
    "no file": (["run", "none.toml", "--store", "s"], "none.toml is not a file"),
    "no scheduler": (["run", "accuracy", "--store", "s", "--resource", "GPU"], "need --scheduler-file or --address"),
    "engine and scheduler": (
        ["run", "accuracy", "--store", "s", "--engine", "process", "--address", "tcp://127.0.0.1:1"], "no scheduler"
    ),
    "engine and workers": (["run", "accuracy", "--store", "s", "--engine", "process", "--workers", 2], "one worker"),
    "their workers": (
        ["run", "accuracy", "--store", "s", "--address", "tcp://127.0.0.1:1", "--workers", 2], "leave --workers out"
    ),
    "no store": (["status", "--store", "s"], "store is 's', but must be the folder of a store"),
    "empty store": (["run", "accuracy", "--store", ""], "store is ''"),
    "unknown scale": (["run", "accuracy", "--store", "s", "--scale", "big"], "scale is 'big'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence_and_leave_no_file(name, command, tmp_path):
    arguments, sentence = BAD[name]
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1
    assert not os.listdir(tmp_path)
