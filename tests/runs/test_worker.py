"""What every worker does: each spec is reported once, whatever happens to the others."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import jax
import pytest

from loadstone.runs import plan
from loadstone.runs import worker as job
from loadstone.runs.result import begin, perform
from loadstone.runs.spec import Spec
from loadstone.runs.store import Store
from loadstone.solvers.solve import solve_batch
from loadstone.tasks import train

SHORT = {"steps": 8, "warmup": 2}
SPECS = [Spec("original", 6, 12, seed, parameters=SHORT) for seed in range(4)]


def run(specs, folder, tell=lambda *report: None):
    """For each spec whether it has its record, and why not."""
    told = []

    def hear(spec, status, why):
        told.append((spec, status, why))
        tell(spec, status, why)

    with job.Runner(Store(folder), None, hear) as runner:
        runner.run(specs)
    assert [spec for spec, _, _ in told] == list(specs)
    return [(status is not None, why) for _, status, why in told]


def test_a_record_that_cannot_be_finished_fails_alone(tmp_path, monkeypatch):
    finish = train.matrix_singular_values
    turns = iter([finish, broken, finish, finish])
    monkeypatch.setattr(train, "matrix_singular_values", lambda *memory: next(turns)(*memory))
    assert run(SPECS, tmp_path) == [(True, ""), (False, "ValueError: no spectrum"), (True, ""), (True, "")]
    assert Store(tmp_path).keys() == {spec.key for place, spec in enumerate(SPECS) if place != 1}


def broken(matrix, rank):
    raise ValueError("no spectrum")


class Large:
    """What a batch has on the device."""


def test_a_batch_that_fails_is_tried_one_by_one(tmp_path, monkeypatch):
    sizes, held = [], weakref.WeakSet()

    def refusing(specs, budget, together):
        assert together == 1
        sizes.append(len(specs))
        assert not held
        if len(specs) > 1 or specs[0].seed == 2:
            large = Large()
            held.add(large)
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: too large")
        return begin(specs, budget, together)

    monkeypatch.setattr(job, "begin", refusing)
    monkeypatch.setattr(plan, "batch_size", lambda spec, platform: 4)
    reports = run(SPECS, tmp_path)
    assert not held  # nothing of the failed batch is alive when the first run is tried alone
    assert sizes == [4, 1, 1, 1, 1] and [done for done, _ in reports] == [True, True, False, True]
    assert "RESOURCE_EXHAUSTED" in reports[2][1]


def test_any_error_of_a_run_is_told_and_the_others_go_on(tmp_path, monkeypatch):
    def mistaken(specs, budget, together):
        if specs[0].seed == 1:
            raise TypeError("a mistake of ours")
        return begin(specs, budget, together)

    monkeypatch.setattr(job, "begin", mistaken)
    assert run(SPECS, tmp_path)[1] == (False, "TypeError: a mistake of ours") and len(Store(tmp_path).keys()) == 3


def test_a_short_batch_is_filled_up_and_gives_the_same_records(tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr(plan, "batch_size", lambda spec, platform: 3)
    monkeypatch.setattr(train, "solve_batch", lambda problems, *given, **more: (
        trained.append(len(problems)) or solve_batch(problems, *given, **more)))  # fmt: skip
    run(SPECS, tmp_path / "filled")
    run(SPECS[:2], tmp_path / "fewer")
    assert trained == [3, 3, 2]  # several batches: of one size; a single one as it is
    records = [Store(tmp_path / "filled").get(spec.key) for spec in SPECS]
    monkeypatch.undo()
    for record, alone in zip(records, perform(SPECS)):
        assert record.spec == alone.spec and record.result["steps"] == alone.result["steps"]
        assert record.result["loss"] == pytest.approx(alone.result["loss"], rel=1e-4)


def test_records_are_finished_while_the_next_run_computes(tmp_path, monkeypatch):
    computing = [threading.Event() for _ in SPECS]

    def begin_and_say(specs, budget, together):
        computing[SPECS.index(specs[0])].set()
        (finish,) = begin(specs, budget, together)
        # The last has none to wait for.
        after = computing[min(SPECS.index(specs[0]) + 1, len(SPECS) - 1)]
        return [lambda: after.wait(30) and finish()]

    monkeypatch.setattr(job, "begin", begin_and_say)
    assert all(done for done, _ in run(SPECS, tmp_path))


def test_computing_is_ahead_of_writing_by_one_record_on_a_cpu(tmp_path, monkeypatch):
    begun, second, go_on = [], threading.Event(), threading.Event()

    def begin_and_say(specs, budget, together):
        begun.append(specs[0])
        if len(begun) == 2:
            second.set()
        (finish,) = begin(specs, budget, together)
        return [lambda: go_on.wait(30) and finish()]

    monkeypatch.setattr(job, "begin", begin_and_say)
    told = []

    def work():
        with job.Runner(Store(tmp_path), None, lambda spec, *report: told.append(spec)) as runner:
            runner.run(SPECS)

    at_work = threading.Thread(target=work)
    at_work.start()
    assert second.wait(30)
    time.sleep(0.3)
    assert begun == SPECS[:2] and not told  # one is to be written, and the third waits
    go_on.set()
    at_work.join()
    assert sorted(map(str, told)) == sorted(map(str, SPECS))


def test_an_error_of_writing_comes_before_others(tmp_path, monkeypatch):
    fate = iter([TypeError("a mistake"), OSError(28, "No space left on device")])

    def fail(store, record):
        raise next(fate)

    monkeypatch.setattr(Store, "put", fail)
    monkeypatch.setattr(plan, "batch_size", lambda spec, platform: 2)
    with pytest.raises(OSError, match="No space left"):
        run(SPECS[:2], tmp_path)


@pytest.fixture
def accelerator(monkeypatch):
    """Four writers, as beside an accelerator."""
    monkeypatch.setattr(job.jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(job, "batch_sizes", lambda specs, platform: (1, 1))


def test_several_writers_tell_of_every_run_once(tmp_path, monkeypatch, accelerator):
    monkeypatch.setattr(job, "batch_sizes", lambda specs, platform: (4, 4))
    told = []
    with job.Runner(Store(tmp_path), None, lambda spec, status, why: told.append((spec, status))) as runner:
        runner.run(SPECS)
    assert sorted(str(spec) for spec, status in told if status) == sorted(map(str, SPECS))
    assert Store(tmp_path).keys() == {spec.key for spec in SPECS}


def test_a_job_of_dask_reports_each_run(tmp_path):
    perform_one = perform(SPECS[:1])
    Store(tmp_path).put(perform_one[0])
    identities = json.dumps([spec.identity() for spec in SPECS])
    reports = job.run_job(identities, str(tmp_path))
    assert [(key, why) for key, _, why in reports] == [(spec.key, "") for spec in SPECS]
    assert all(status == Store(tmp_path).get(key).result["status"] for key, status, _ in reports)
    failed = job.run_job(identities, str(tmp_path / "other"), 1000)
    assert [key for key, status, why in failed if status is None and "budget" in why] == [spec.key for spec in SPECS]


def full(store, record):
    raise OSError(28, "No space left on device")


def test_a_disk_that_cannot_be_written_stops_the_job(tmp_path, monkeypatch):
    monkeypatch.setattr(Store, "put", full)
    with pytest.raises(OSError, match="No space left"):
        run(SPECS, tmp_path)


def test_an_error_of_writing_is_heard_before_more_is_computed_than_needed(tmp_path, monkeypatch, accelerator):
    begun = []
    written = threading.Event()

    def refuse(store, record):
        written.set()
        full(store, record)

    def begin_later(specs, budget, together):
        if begun:
            assert written.wait(30)
            time.sleep(0.3)  # until it is known
        begun.append(specs[0])
        return begin(specs, budget, together)

    monkeypatch.setattr(Store, "put", refuse)
    monkeypatch.setattr(job, "begin", begin_later)
    with pytest.raises(OSError, match="No space left"):
        run(SPECS, tmp_path)
    assert len(begun) < len(SPECS)


def test_an_error_of_writing_is_heard_even_if_the_rest_is_there(tmp_path, monkeypatch):
    for record in perform(SPECS[1:]):
        Store(tmp_path).put(record)
    monkeypatch.setattr(Store, "put", full)
    with pytest.raises(OSError, match="No space left"):
        run(SPECS, tmp_path)


@pytest.mark.parametrize("text, words", [("two\n  lines", "two lines"), ("x" * 900, "x" * 488)])
def test_an_error_is_told_in_one_short_sentence(text, words):
    assert job.sentence(ValueError(text)) == f"ValueError: {words}"


def test_a_worker_of_dask_prints_nothing_and_can_be_ended():
    program = """
import os, signal, sys
from loadstone.runs.worker import dask_setup
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGHUP})
dask_setup(None)
print("not to be seen", file=sys.stderr, flush=True)
os.kill(os.getpid(), signal.SIGTERM)
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, env=environment)
    assert (done.stderr, done.returncode) == (b"", -signal.SIGTERM)
