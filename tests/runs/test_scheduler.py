"""The Dask engine with a scheduler that is made by hand, so that jobs end in every way that they can."""

import json
import logging
import signal
from concurrent.futures import CancelledError
from types import SimpleNamespace

import pytest
from distributed import KilledWorker
from distributed import Status as NannyStatus

from loadstone.runs.engines import dask as engine
from loadstone.runs.engines import machine
from loadstone.runs.engines.dask import DaskEngine, ThisMachine
from loadstone.runs.engines.elsewhere import Elsewhere
from loadstone.runs.record import Record
from loadstone.runs.spec import Spec
from loadstone.runs.store import Store
from loadstone.runs.sweep import Progress, SweepError
from loadstone.runs.worker import run_job

#: Two runs of one program, which are one job of one worker, and two that are jobs of their own.
SPECS = [Spec("original", 6, p, seed, solver="hebbian") for p, seed in ((14, 0), (14, 1), (10, 0), (8, 0))]


class Future:
    """A job that has ended in some way."""

    def __init__(self, status="finished", result=(), error=None):
        self.status, self._result, self._error = status, result, error

    def result(self, timeout):
        if isinstance(self._result, Exception):
            raise self._result
        return self._result

    def exception(self):
        return self._error

    def cancelled(self):
        return self.status == "cancelled"

    def done(self):
        return True

    def add_done_callback(self, call):
        call(self)

    def release(self):
        pass


class Scheduler:
    """A scheduler, the client and the engine's way to it: workers that answer at once, or as `ends` says of a job."""

    address = "tcp://here:1"
    scheduler = property(lambda self: self)
    identity = "identity"

    def __init__(self, store, ends=lambda specs: None, **workers):
        self.store, self.ends, self.workers, self.given, self.closed = store, ends, workers, [], 0

    def connect(self, most):
        return self

    def close(self, client):
        self.closed += 1

    def sync(self, question, **options):
        return {"workers": {name: {"resources": has} for name, has in self.workers.items()}}

    def look_after(self, anyone_there):
        pass

    def submit(self, function, identities, folder, budget, workers, resources, pure):
        assert function is run_job and not pure and folder == str(self.store.folder)
        specs = [Spec.from_identity(one) for one in json.loads(identities)]
        self.given.append((specs, workers, resources, budget))
        if (ended := self.ends(specs)) is not None:
            return ended
        for spec in specs:
            self.store.put(Record(spec.key, spec.identity(), {"status": "closed form"}, {"seconds": 1.0}))
        return Future(result=[(spec.key, "closed form", "") for spec in specs])


def swept(there, specs=SPECS, **options):
    progress = Progress(len(specs), 0, specs)
    DaskEngine(there, **options)(specs, there.store, progress)
    assert there.closed == 1
    return progress


def test_every_usable_worker_has_one_job_at_a_time(tmp_path):
    current = []
    there = Scheduler(Store(tmp_path), one={"GPU": 1}, two={"GPU": 2}, three={"GPU": 0.5}, four={})
    progress = Progress(4, 0, SPECS, watch=lambda progress: current.append(sorted(progress.current)))
    DaskEngine(there, "GPU", budget=77)(SPECS, there.store, progress)
    assert progress.done == 4 and not progress.failed and ["one", "two"] in current
    assert {worker for _, (worker,), *_ in there.given} == {"one", "two"}
    assert all(job[2:] == ({"GPU": 1}, 77) for job in there.given)
    assert not there.store.missing([spec.key for spec in SPECS]) and not progress.lost_workers
    without = Scheduler(Store(tmp_path / "other"), one={})
    assert swept(without).done == 4 and {job[2] for job in without.given} == {None}


def test_what_a_worker_says_of_its_runs_is_told(tmp_path):
    def ends(specs):
        store.put(Record(SPECS[0].key, SPECS[0].identity(), {"status": "diverged"}, {}))
        return Future(result=[(SPECS[0].key, "diverged", ""), (SPECS[1].key, None, "too large")])

    store = Store(tmp_path)
    progress = swept(Scheduler(store, lambda specs: ends(specs) if SPECS[0] in specs else None, one={}))
    assert (progress.done, progress.diverged) == (3, 1)
    assert list(progress.failed.values()) == [f"{SPECS[1]}: too large"]


@pytest.mark.parametrize("ended, why", [
    (Future("lost"), "3 workers died on it"),
    (Future("error", error=KilledWorker("t", None, 3)), "3 workers died on it"),
    (Future(result=TimeoutError()), "3 workers died on it"), (Future(result=CancelledError()), "3 workers died on it"),
    (Future("error", error=ValueError("no such run")), "ValueError: no such run"),
])  # fmt: skip
def test_a_job_without_an_answer_is_given_out_again_and_a_run_is_to_blame_only_if_it_was_alone(ended, why, tmp_path):
    there = Scheduler(Store(tmp_path), lambda specs: ended if SPECS[0] in specs else None, one={})
    progress = swept(there)
    assert list(progress.failed.values()) == [f"{SPECS[0]}: {why}"] and progress.done == 3
    jobs = [specs for specs, *_ in there.given if SPECS[0] in specs]
    assert jobs == [SPECS[:2], SPECS[:1], SPECS[:1], SPECS[:1]]


def test_a_job_that_was_cancelled_comes_again_as_it_is(tmp_path):
    futures = [Future("cancelled")] * 5
    there = Scheduler(Store(tmp_path), lambda specs: futures.pop() if SPECS[0] in specs and futures else None, one={})
    assert swept(there).done == 4
    assert [specs for specs, *_ in there.given if SPECS[0] in specs] == [SPECS[:2]] * 6


def test_a_full_disk_at_a_worker_ends_the_sweep_and_dask_is_silent(tmp_path):
    there = Scheduler(Store(tmp_path), lambda specs: Future("error", error=OSError(28, "No space left")), one={})
    with pytest.raises(SweepError, match="cannot be written by a worker: OSError: .Errno 28. No space left"):
        swept(there)
    assert there.closed == 1
    for name in ("distributed", "distributed.client", "distributed.gc", "tornado.application", "asyncio"):
        assert not logging.getLogger(name).isEnabledFor(logging.CRITICAL)


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only where somebody sleeps."""
    now = [100.0]
    monkeypatch.setattr(engine.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(engine.time, "sleep", lambda seconds: now.append(now.pop() + seconds))
    return now


def test_a_record_that_does_not_appear_ends_the_sweep(tmp_path, clock):
    there = Scheduler(
        Store(tmp_path), lambda specs: Future(result=[(spec.key, "stored", "") for spec in specs]), one={}
    )
    with pytest.raises(SweepError, match="is not in .*: the workers must see the same folder"):
        swept(there)
    assert 110 < clock[0] < 113


def test_a_record_may_appear_late(tmp_path, clock, monkeypatch):
    there = Scheduler(Store(tmp_path), one={})
    late = SimpleNamespace(folder=there.store.folder, put=lambda record: records.append(record))
    records = []
    there.store, put = late, there.store
    monkeypatch.setattr(engine.time, "sleep", lambda seconds: put.put(records.pop(0)) if records else None)
    progress = Progress(1, 0, SPECS[2:3])
    DaskEngine(there)(SPECS[2:3], put, progress)
    assert progress.done == 1 and not records


@pytest.mark.parametrize("answer, patience, sentence", [
    (TimeoutError(), 90.0, "the scheduler at tcp://here:1 is gone."), (OSError(), 90.0, "at tcp://here:1 is gone."),
    (None, 7.6, "no worker with the resource TPU was there for 8 seconds: start one, then run again."),
])  # fmt: skip
def test_who_is_waited_for_and_how_long(answer, patience, sentence, tmp_path, clock):
    there = Scheduler(Store(tmp_path), one={})
    if answer:
        there.sync = lambda *question, **options: (_ for _ in ()).throw(answer)
    with pytest.raises(SweepError, match=sentence):
        swept(there, resource="TPU", patience=patience)
    limit = 10.0 if answer else patience
    assert limit < clock[0] - 100.0 <= limit + 0.5


def test_workers_that_disappear_are_counted_and_their_jobs_given_to_others(tmp_path):
    """The first worker is gone before its job has ended."""
    there = Scheduler(Store(tmp_path), one={}, two={})

    def ends(specs):
        if "one" not in there.workers or there.given[-1][1] != ["one"]:
            return None
        del there.workers["one"]
        lost = Future("lost")
        lost.done = lambda: False
        return lost

    there.ends = ends
    progress = swept(there)
    assert (progress.done, progress.lost_workers) == (4, 1) and not progress.failed and "one" not in progress.current


def test_nannies_whose_workers_fail_to_start_are_replaced_and_counted():
    """As `LocalCluster` has them: to start real ones that fail takes a minute."""
    asked = []
    here = ThisMachine(3)
    states = enumerate((NannyStatus.running, NannyStatus.closed, NannyStatus.failed))
    here._cluster = cluster = SimpleNamespace(
        workers={name: SimpleNamespace(status=status, pid=None) for name, status in states},
        worker_spec={0: 0, 1: 0, 2: 0}, scale=asked.append,
    )  # fmt: skip
    here._failed = 0
    here.look_after(False)
    assert list(cluster.workers) == [0] and asked == [3]
    here.look_after(True)  # one is there: what failed before does not count
    for anyone_there in (True, False):
        cluster.workers = {name: SimpleNamespace(status=NannyStatus.failed, pid=None) for name in range(3)}
        if anyone_there:
            here.look_after(True)
    with pytest.raises(SweepError, match="no worker starts on this machine"):
        here.look_after(False)


@pytest.mark.parametrize("address, local", [
    ("tcp://127.0.0.1:1", True), ("tcp://localhost:1", True), ("tcp://[::1]:1", True), ("tcp://10.0.0.1:1", False),
    ("tcp://elsewhere:1", False),
])  # fmt: skip
def test_only_this_machine_is_trusted_without_tls(address, local):
    assert Elsewhere(address=address, trust_network=True).resolved == address
    if local:
        assert Elsewhere(address=address).resolved == address
    else:
        with pytest.raises(ValueError, match="where anyone on the network could run code"):
            Elsewhere(address=address)


def test_certificates_that_do_not_fit_are_refused(tmp_path):
    (tmp_path / "a.pem").touch()
    files = dict.fromkeys(("tls_ca", "tls_cert", "tls_key"), str(tmp_path / "a.pem"))
    with pytest.raises(ValueError, match="which has no TLS: leave the certificates out, or start it with TLS"):
        Elsewhere(address="tcp://127.0.0.1:1", **files)
    with pytest.raises(ValueError, match="tls_key is 'none.pem', but must be the name of a .pem file"):
        Elsewhere(address="tls://127.0.0.1:1", **files | {"tls_key": "none.pem"})
    assert Elsewhere(address="tls://10.0.0.1:12345", **files).resolved == "tls://10.0.0.1:12345"
    for wrong in ("tls://a:123456", "tls://a:", "http://a:1", "tls://:1x"):
        with pytest.raises(ValueError, match="must be tcp://HOST:PORT or tls://HOST:PORT"):
            Elsewhere(address=wrong, **files)


def test_a_scheduler_s_file_is_read_up_to_a_megabyte(tmp_path):
    file = tmp_path / "s.json"
    file.write_text(json.dumps({"address": "tcp://127.0.0.1:9"}))
    assert Elsewhere(scheduler_file=str(file)).resolved == "tcp://127.0.0.1:9"
    file.write_text('{"address": "tcp://127.0.0.1:9"' + " " * 1_000_000 + "}")
    with pytest.raises(ValueError, match="which no Dask scheduler wrote"):
        Elsewhere(scheduler_file=str(file))
    with pytest.raises(ValueError, match="and not both"):
        Elsewhere()


def test_signals_are_held_back_and_let_go():
    with machine.deaf_to_interrupts():
        assert signal.pthread_sigmask(signal.SIG_BLOCK, set()) >= {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, set()) & machine.ENDS
