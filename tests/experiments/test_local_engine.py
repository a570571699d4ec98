"""Sweeps on one machine: complete, repeatable, and whole after every kind of end. Real processes, real signals."""

import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import psutil
import pytest

from loadstone.experiments.engines import local
from loadstone.experiments.engines.local import LocalEngine, _begun
from loadstone.experiments.grid import read_grid
from loadstone.experiments.plan import Plan
from loadstone.experiments.record import _header
from loadstone.experiments.spec import Spec
from loadstone.experiments.store import Store
from loadstone.experiments.sweep import Progress, run_sweep
from tests.experiments.faults import (
    GRID,
    LOADSTONE,
    Killed,
    finish,
    grid_file,
    results,
    run,
    serial,
    start,
    wait_until,
    workers_of,
)


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    return grid_file(tmp_path_factory.mktemp("grid"))


@pytest.fixture(scope="module")
def expected(grid):
    return serial(grid)


@pytest.fixture(scope="module")
def finished(grid, tmp_path_factory):
    """A store that a sweep with two workers filled."""
    store = Store(tmp_path_factory.mktemp("finished") / "store")
    code, out, err = run("run", grid, "--store", store.folder, "--workers", 2, "--json")
    return store, code, json.loads(out), err


def copy_of(store, folder):
    for key in store.keys():
        Store(folder).put(store.get(key))
    return Store(folder)


def test_two_workers_give_the_records_of_a_serial_run_to_the_last_bit(finished, expected):
    store, code, outcome, err = finished
    assert code == 0 and results(store) == expected
    assert outcome["total"] == outcome["done"] == 12 and outcome["complete"] and not outcome["failed"]
    assert "12 runs: 0 were there, 12 done" in err and "0/12 runs" in err


def test_starting_again_does_nothing_more(finished, grid):
    before = {path: path.stat().st_mtime_ns for path in finished[0].records.rglob("*.record")}
    code, out, _ = run("run", grid, "--store", finished[0].folder, "--json")
    assert code == 0 and json.loads(out)["done"] == 0 and json.loads(out)["before"] == 12
    assert before == {path: path.stat().st_mtime_ns for path in finished[0].records.rglob("*.record")}


def test_a_damaged_record_is_set_aside_reported_and_run_again(finished, grid, expected, tmp_path):
    store = copy_of(finished[0], tmp_path / "store")
    path = next(store.records.rglob("*.record"))
    path.write_bytes(path.read_bytes()[:-7])
    code, out, err = run("run", grid, "--store", store.folder, "--json")
    assert code == 0 and json.loads(out)["done"] == json.loads(out)["quarantined"] == 1
    assert "1 damaged records were set aside" in err and results(store) == expected
    code, out, _ = run("status", grid, "--store", store.folder, "--json")
    assert (json.loads(out)["done"], json.loads(out)["missing"], json.loads(out)["quarantined"]) == (12, 0, 1)


def test_a_record_that_describes_another_run_is_not_believed(finished, grid, expected, tmp_path):
    store = copy_of(finished[0], tmp_path / "store")
    record = store.get(next(iter(expected)))
    store.put(replace(record, spec=record.spec | {"d": 999}))
    code, out, _ = run("run", grid, "--store", store.folder, "--json")
    assert code == 0 and json.loads(out)["done"] == json.loads(out)["quarantined"] == 1 and results(store) == expected


def test_files_in_the_current_folder_do_not_pass_for_modules(finished, grid, tmp_path):
    store = copy_of(finished[0], tmp_path / "store")
    next(store.records.rglob("*.record")).unlink()
    (tmp_path / "optax.py").write_text("open('executed', 'w')")
    assert run("run", grid, "--store", store.folder, cwd=tmp_path)[0] == 0
    assert not (tmp_path / "executed").exists()


def test_status_counts_and_guesses_the_time_left(finished, grid, tmp_path):
    store = copy_of(finished[0], tmp_path / "store")
    gone = sorted(store.records.rglob("*.record"))[:3]
    for path in gone:
        path.unlink()
    status = json.loads(run("status", grid, "--store", store.folder, "--json")[1])
    assert (status["total"], status["done"], status["missing"]) == (12, 9, 3) and status["statuses"] == {
        "step limit": 9
    }
    halved = json.loads(run("status", grid, "--store", store.folder, "--workers", 2, "--json")[1])
    assert halved["seconds_left"] == pytest.approx(status["seconds_left"] / 2) and status["seconds_left"] > 0
    # A run somewhere else says nothing about the pace here.
    elsewhere = store.get(min(store.keys()))
    store.put(replace(elsewhere, circumstances=elsewhere.circumstances | {"device": "another", "seconds": 1e6}))
    assert json.loads(run("status", grid, "--store", store.folder, "--json")[1])["seconds_left"] < 100
    shown = run("status", "--store", store.folder)[1]
    assert "records" in shown and "missing" not in shown  # without a grid nothing can be missing


def test_a_killed_driver_loses_only_the_runs_in_flight(grid, expected, tmp_path):
    store = Store(tmp_path / "store")
    driver = start("run", grid, "--store", store.folder, "--workers", 2)
    wait_until(lambda: len(store.keys()) >= 4)
    workers = workers_of(driver)
    driver.kill()
    finish(driver)
    # Its workers notice within moments and end, in the middle of a run if need be.
    psutil.wait_procs(workers, timeout=20)
    assert not any(worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE for worker in workers)
    kept = {path: path.stat().st_mtime_ns for path in store.records.rglob("*.record")}
    code, out, _ = run("run", grid, "--store", store.folder, "--workers", 2, "--json")
    assert code == 0 and json.loads(out)["before"] == len(kept) and json.loads(out)["done"] == 12 - len(kept)
    assert results(store) == expected and not store.quarantined()
    assert kept.items() <= {path: path.stat().st_mtime_ns for path in store.records.rglob("*.record")}.items()


def test_killed_workers_are_replaced(grid, expected, tmp_path):
    store = Store(tmp_path / "store")
    driver = start("run", grid, "--store", store.folder, "--workers", 2, "--json")
    for count in (1, 4, 7):
        wait_until(lambda: len(store.keys()) >= count)  # noqa: B023
        workers_of(driver)[0].kill()
    code, out, err = finish(driver)
    assert code == 0 and results(store) == expected, err
    assert 2 <= json.loads(out)["lost_workers"] <= 3 and "workers were lost" in err


@pytest.mark.parametrize("chosen", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_is_clean(chosen, grid, expected, tmp_path):
    store = Store(tmp_path / "store")
    driver = start("run", grid, "--store", store.folder, "--workers", 2)
    wait_until(lambda: len(store.keys()) >= 2)
    workers = workers_of(driver)
    driver.send_signal(chosen)
    code, _, err = finish(driver, 30)
    assert code == 130 and "runs are recorded; start again" in err and "Traceback" not in err
    assert workers and not any(worker.is_running() for worker in workers)
    assert run("run", grid, "--store", store.folder)[0] == 0 and results(store) == expected


def test_two_drivers_on_one_store(grid, expected, tmp_path):
    store = Store(tmp_path / "store")
    drivers = [start("run", grid, "--store", store.folder, "--workers", 1) for _ in range(2)]
    for driver in drivers:
        assert finish(driver)[0] == 0
    assert results(store) == expected and not store.quarantined()


def test_a_full_disk_ends_the_sweep_with_a_sentence_and_leaves_no_half_record(grid, tmp_path):
    """A limit on the size of files is what a full disk looks like to a writer: a write that fails halfway."""
    store = Store(tmp_path / "store")
    program = "import os, resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    program += "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", program, str(LOADSTONE), "run", str(grid), "--store", str(store.folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 1 and "cannot be written" in done.stderr and "File too large" in done.stderr
    assert not store.keys() and not list(store.folder.rglob("*.part"))


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(grid):
    code, out, err = run("run", grid, "--store", "/proc/store")
    assert code == 2 and "store is '/proc/store', which cannot be made" in err and err.count("\n") == 1


def test_failed_runs_are_reported_and_not_kept(grid, tmp_path):
    code, out, err = run("run", grid, "--store", tmp_path / "store", "--budget", "1kB", "--json")
    outcome = json.loads(out)
    assert code == 1 and outcome["missing"] == 12 and len(outcome["failed"]) == 12 and not outcome["complete"]
    assert "raise the budget" in err and "2 more" in err and not Store(tmp_path / "store").keys()


def test_diverged_runs_are_kept_as_diverged(tmp_path):
    text = GRID.replace("{seeds}", "1") + "learning_rate = 1e38\nwarmup = 0\n"
    text = text.replace('["original", "decoupled"]', '"original"')
    grid = grid_file(tmp_path, text=text.replace("{", "{{").replace("}", "}}"))
    code, out, err = run("run", grid, "--store", tmp_path / "store", "--json")
    assert code == 0 and json.loads(out)["diverged"] == 1 and "diverged" in err
    assert json.loads(run("status", grid, "--store", tmp_path / "store", "--json")[1])["diverged"] == 1


def test_a_run_that_brings_down_its_workers_fails_and_the_others_do_not(tmp_path):
    """One run is far too long: whichever worker is at it is killed, three times."""
    text = '[[grid]]\nproblem = "original"\nd = 12\np = 30\nseeds = 2\nsteps = 50\n'
    text += '[[grid]]\nproblem = "original"\nd = 200\np = 4000\nsteps = 100000\nstop = "none"\n'
    grid = grid_file(tmp_path, text=text)
    store = Store(tmp_path / "store")
    driver = start("run", grid, "--store", store.folder, "--workers", 2, "--json")
    wait_until(lambda: len(store.keys()) == 2)
    for _ in range(3):
        (worker,) = wait_until(lambda: [one for one in workers_of(driver) if processor_seconds(one) > 4])
        worker.kill()
        wait_until(lambda: not worker.is_running())  # noqa: B023
    code, out, err = finish(driver)
    outcome = json.loads(out)
    assert code == 1 and outcome["missing"] == 1 and outcome["lost_workers"] == 3 and len(store.keys()) == 2
    assert "d = 200, p = 4000, adam, seed 0: 3 workers died on it, the last one by signal SIGKILL" in err


def test_of_what_a_dead_worker_had_it_was_at_two_batches_and_what_the_writers_had():
    specs = [Spec("original", 50, 400, seed) for seed in range(160)]
    job = {spec.key: spec for spec in specs}
    assert _begun([], "cpu") == ([], [])
    # It died after its last report, before it said that it was free. A GPU had the next job's first batch in hand.
    assert _begun([{}, job], "cpu") == ([], specs) and _begun([{}, job], "gpu") == (specs[:25], specs[25:])
    first, second = ({spec.key: spec for spec in part} for part in (specs[:100], specs[100:]))
    assert _begun([first, second], "gpu") == (specs[:53] + specs[100:125], specs[53:100] + specs[125:])
    assert _begun([first, second], "cpu") == (specs[:2], specs[2:])
    assert _begun([job, {}], "gpu") == (specs[:53], specs[53:])
    assert _begun([job], "cpu") == (specs[:2], specs[2:])


def test_a_suspect_goes_to_a_worker_that_has_nothing_else(tmp_path):
    specs = [Spec("original", 50, p) for p in range(400, 340, -1)]
    sweep = local._Sweep(LocalEngine(1), Plan(specs), Store(tmp_path), Progress(len(specs), 0, specs), "programs")

    def employed(worker):
        sweep._employ(worker)
        return [list(job.values()) for job in worker.jobs]

    def new_worker():
        return local._Worker(SimpleNamespace(stdin=io.StringIO()), "gpu")

    first = new_worker()
    assert employed(first) == [specs[:25], specs[25:50]]
    sweep.plan.put_back(specs[:2], alone=True)
    first.jobs.popleft()
    assert employed(first) == [specs[25:50]]
    second = new_worker()
    for suspect in specs[:2]:
        assert employed(second) == [[suspect]]
        second.jobs.clear()
    assert employed(second) == [specs[50:]]


def test_the_last_jobs_are_not_taken_from_idle_workers(tmp_path):
    specs = [Spec("original", 12, 40, seed, solver="capacity") for seed in range(2)]
    sweep = local._Sweep(LocalEngine(2), Plan(specs, 2), Store(tmp_path), Progress(len(specs), 0, specs), "programs")
    workers = [local._Worker(SimpleNamespace(stdin=io.StringIO()), "gpu") for _ in specs]
    for worker in workers:
        sweep._employ(worker)
    assert [[list(job.values()) for job in worker.jobs] for worker in workers] == [[[specs[0]]], [[specs[1]]]]


def test_workers_share_a_gpu_and_leave_its_host_a_core(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(local.subprocess, "Popen", lambda *given, env, **others: started.append(env))
    monkeypatch.setattr(local.os, "sched_getaffinity", lambda process: range(16))
    monkeypatch.delenv("XLA_PYTHON_CLIENT_MEM_FRACTION", raising=False)
    for gpu in (False, True):
        monkeypatch.setattr(local, "gpu_expected", lambda gpu=gpu: gpu)
        for workers in (1, 2):
            LocalEngine(workers).start(Store(tmp_path), "programs")
    assert [env["OPENBLAS_NUM_THREADS"] for env in started] == ["16", "8", "1", "1"]
    assert [env.get("XLA_PYTHON_CLIENT_MEM_FRACTION") for env in started] == [None, "0.3750"] * 2
    monkeypatch.setenv("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.4")
    LocalEngine(2).start(Store(tmp_path), "programs")
    assert started[-1]["XLA_PYTHON_CLIENT_MEM_FRACTION"] == "0.4"  # what the user has set comes first
    monkeypatch.delenv("XLA_PYTHON_CLIENT_MEM_FRACTION")
    monkeypatch.setenv("XLA_CLIENT_MEM_FRACTION", "0.4")
    LocalEngine(2).start(Store(tmp_path), "programs")
    assert "XLA_PYTHON_CLIENT_MEM_FRACTION" not in started[-1]  # JAX refuses both


def processor_seconds(process):
    """A worker that has used so many is past its start."""
    try:
        return sum(process.cpu_times()[:2])
    except psutil.NoSuchProcess:
        return 0.0


def test_workers_that_never_start_end_the_sweep(grid, tmp_path):
    outcome = run_sweep(read_grid(grid), Store(tmp_path), Killed(2))
    assert not outcome.complete and "no worker starts: with exit code 1 (the library is missing)" in outcome.stopped


def test_a_record_of_a_later_version_stops_the_sweep(finished, grid, tmp_path):
    store = copy_of(finished[0], tmp_path / "store")
    path = next(store.records.rglob("*.record"))
    body = path.read_bytes().split(b"\n", 1)[1]
    path.write_bytes(_header(2, body) + body)
    code, _, err = run("run", grid, "--store", store.folder)
    assert code == 2 and "its schema is 2" in err and err.count("\n") == 1 and path.exists()


def test_the_driver_takes_less_than_ten_milliseconds_a_run(tmp_path):
    """Processor time of the driver, and of the durable write; the workers' own time is not the engine's."""
    text = '[[grid]]\nproblem = "original"\nd = 6\np = 8\nseeds = 300\nsteps = 5\nwarmup = 1\n'
    specs = read_grid(grid_file(tmp_path, text=text))
    store = Store(tmp_path / "store")
    before = resource.getrusage(resource.RUSAGE_SELF)
    outcome = run_sweep(specs, store, LocalEngine(1))
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert outcome.complete
    driver = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 300
    record = store.get(specs[0].key)
    began = time.process_time()
    for _ in range(50):
        store.put(record)
    write = (time.process_time() - began) / 50
    assert driver + write < 0.010
    print(f"driver {1e3 * driver:.2f} ms and write {1e3 * write:.2f} ms of processor time a run")


BAD = {
    "unknown engine": (["run", "accuracy", "--store", "s", "--engine", "slurm"], "engine is 'slurm'"),
    "no workers": (["run", "accuracy", "--store", "s", "--workers", 0], "workers is 0"),
    "unknown name": (["run", "acuracy", "--store", "s"], "did you mean 'accuracy'?"),
    "no file": (["run", "none.toml", "--store", "s"], "none.toml is not a file"),
    "dask options": (["run", "accuracy", "--store", "s", "--address", "tcp://127.0.0.1:1"], "add --engine dask"),
    "dask workers": (["run", "accuracy", "--store", "s", "--engine", "dask", "--workers", 2], "leave --workers out"),
    "no store": (["status", "--store", "s"], "store is 's', but must be the folder of a store"),
    "empty store": (["run", "accuracy", "--store", ""], "store is ''"),
    "unknown scale": (["run", "accuracy", "--store", "s", "--scale", "big"], "scale is 'big'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence_and_leave_no_file(name, command, tmp_path):
    arguments, sentence = BAD[name]
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1
    assert not os.listdir(tmp_path)
