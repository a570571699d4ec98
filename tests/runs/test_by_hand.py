"""Sweeps through a scheduler that is made by hand, specs and runs that are refused, and what a worker is given."""

import json
import logging
from concurrent.futures import CancelledError
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from distributed import KilledWorker
from distributed import Status as Status_

from loadstone.problems import instance
from loadstone.runs import result
from loadstone.runs import sweep as sweeps
from loadstone.runs import worker as job
from loadstone.runs.compile_ahead import calls
from loadstone.runs.engines import dask as engine
from loadstone.runs.engines import elsewhere, machine
from loadstone.runs.engines.dask import DaskEngine, ThisMachine, _Sweep
from loadstone.runs.engines.elsewhere import Elsewhere
from loadstone.runs.plan import jobs
from loadstone.runs.record import Record
from loadstone.runs.spec import Spec
from loadstone.runs.store import Store
from loadstone.runs.sweep import Progress, SweepError, run_sweep
from loadstone.solvers.solution import Solution, Status
from loadstone.tasks import reach, space, train
from loadstone.tasks.reach import Attempt, Reach
from loadstone.tasks.train import problem_of

SPECS = [Spec("original", 6, p, solver="hebbian") for p in (14, 12, 10, 8)]


def record_of(spec, status="closed form"):
    return Record(spec.key, spec.identity(), {"status": status}, {"seconds": 1.0})


class Future:
    """A job that has ended in some way."""

    def __init__(self, status="finished", result=(), error=None):
        self.status, self._result, self._error, self.released = status, result, error, False

    def result(self, timeout):
        assert timeout == 10.0
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
        self.released = True


@pytest.fixture
def swept(tmp_path):
    """A sweep without a client."""
    return _Sweep(DaskEngine(ThisMachine(2)), None, Store(tmp_path), Progress(len(SPECS), 0, SPECS))


def test_reports_of_a_job_are_told(swept):
    swept.store.put(record_of(SPECS[0]))
    reports = [(SPECS[0].key, "diverged", ""), (SPECS[1].key, None, "too large")]
    ended = Future(result=reports)
    swept._settle(SPECS[:2], ended)
    assert ended.released and swept.progress.done == swept.progress.diverged == 1 and not swept.jobs
    assert list(swept.progress.failed.values()) == [f"{SPECS[1]}: too large"]


@pytest.mark.parametrize("ended, why", [
    (Future("lost"), "3 workers died on it"), (Future("error", error=KilledWorker("t", None, 3)), "3 workers died on"),
    (Future("lost"), "3 workers died on it"), (Future("error", error=KilledWorker("t", None, 3)), "3 workers died"),
    (Future(result=TimeoutError()), "3 workers died on it"), (Future(result=CancelledError()), "3 workers died on it"),
])  # fmt: skip
def test_a_job_without_an_answer_is_given_out_again(ended, why, swept):
    for attempt in range(3):
        assert not swept.progress.failed
        swept._settle(SPECS[:1], ended)
        assert list(swept.jobs) == [SPECS[:1]] * (attempt < 2)
        swept.jobs.clear()
    assert next(iter(swept.progress.failed.values())).startswith(f"{SPECS[0]}: {why}") and ended.released


def test_a_cancelled_job_comes_next_as_it_is_and_a_full_disk_ends_the_sweep(swept):
    swept.jobs.append(SPECS[2:])
    swept._settle(SPECS[:2], Future("cancelled"))
    assert list(swept.jobs) == [SPECS[:2], SPECS[2:]] and not swept.deaths
    with pytest.raises(SweepError, match="cannot be written by a worker: OSError: .Errno 28. No space left"):
        swept._settle(SPECS[:2], Future("error", error=OSError(28, "No space left")))


def test_a_record_that_does_not_appear_ends_the_sweep(swept, monkeypatch):
    now, slept = [0.0], []
    monkeypatch.setattr(engine.time, "monotonic", lambda: now[0])

    def sleep(seconds):
        slept.append(seconds)
        now[0] += 4

    monkeypatch.setattr(engine.time, "sleep", sleep)
    with pytest.raises(SweepError, match="is not in .*: the workers must see the same folder"):
        swept._see(SPECS[:1])
    assert slept == [1, 1, 1]  # up to ten seconds
    monkeypatch.setattr(engine.time, "sleep", lambda seconds: swept.store.put(record_of(SPECS[1])))
    swept._see(SPECS[1:2])


class Scheduler:
    """A scheduler and its client: workers that answer at once."""

    address = "tcp://here:1"

    def __init__(self, store, **workers):
        self.store, self.workers, self.given, self.scheduler = store, workers, [], self
        self.identity, self.asked, self.answer = "identity", [], None

    def sync(self, question, n_workers, callback_timeout):
        self.asked.append((question, n_workers, callback_timeout))
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"workers": {name: {"resources": has} for name, has in self.workers.items()}}

    def look_after(self, anyone_there):
        self.anyone_there = anyone_there

    def submit(self, function, identities, folder, budget, workers, resources, pure):
        assert function is job.run_job and pure is False
        specs = [Spec.from_identity(one) for one in json.loads(identities)]
        self.given.append((len(specs), folder, budget, workers, resources))
        for spec in specs:
            self.store.put(record_of(spec))
        return Future(result=[(spec.key, "closed form", "") for spec in specs])


def test_every_usable_worker_has_one_job_at_a_time(tmp_path):
    store, seen = Store(tmp_path), []
    there = Scheduler(store, one={"GPU": 1}, two={"GPU": 2}, three={"GPU": 0.5}, four={})
    progress = Progress(4, 0, SPECS, watch=lambda progress: seen.append((progress.done, len(progress.current))))
    _Sweep(DaskEngine(there, "GPU", budget=77), there, store, progress).run(SPECS)
    assert progress.done == 4 and not progress.failed and there.anyone_there is True
    assert [one[3] for one in there.given] == [["one"], ["two"], ["one"], ["two"]]
    assert {one[1:3] + (str(one[4]),) for one in there.given} == {(str(tmp_path), 77, "{'GPU': 1}")}
    assert set(there.asked) == {("identity", -1, 2.0)} and max(current for _, current in seen) == 2
    given = Scheduler(Store(tmp_path / "other"), one={}, two={})
    _Sweep(DaskEngine(given), given, given.store, Progress(4, 0, SPECS)).run(SPECS)
    assert {one[4] for one in given.given} == {None} and len(given.given) == len(jobs(SPECS, 2))


@pytest.mark.parametrize("answer, patience, sentence", [
    (TimeoutError(), 90.0, "the scheduler at tcp://here:1 is gone."), (OSError(), 90.0, "at tcp://here:1 is gone."),
    (None, 7.6, "no worker with the resource TPU was there for 8 seconds: start one, then run again."),
])  # fmt: skip
def test_who_is_waited_for_and_how_long(answer, patience, sentence, tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(engine.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(engine.time, "sleep", lambda seconds: now.append(now.pop() + seconds))
    there = Scheduler(Store(tmp_path), one={})
    swept = _Sweep(DaskEngine(there, "TPU", patience), there, there.store, Progress(4, 0, SPECS))
    there.answer = answer
    with pytest.raises(SweepError, match=sentence):
        swept._wait_for_workers()
    limit = 10.0 if answer else patience
    assert limit < now[0] - 100.0 <= limit + 0.5
    there.scheduler = None  # a client that has given up
    assert not swept._look()


def test_dask_is_silent_and_always_closed(tmp_path, monkeypatch):
    there = SimpleNamespace(connect=lambda most: f"client for {most}", close=lambda client: closed.append(client))
    closed = []
    monkeypatch.setattr(engine, "_Sweep", lambda *given: SimpleNamespace(run=fail))

    def fail(specs):
        raise SweepError("no")

    with pytest.raises(SweepError, match="no"):
        DaskEngine(there)(SPECS, None, None)
    assert closed == ["client for 4"]
    for name in ("distributed", "distributed.client", "distributed.gc", "tornado.application", "asyncio"):
        assert not logging.getLogger(name).isEnabledFor(logging.CRITICAL)


@pytest.mark.parametrize("address, local", [
    ("tcp://127.0.0.1:1", True), ("tcp://localhost:1", True), ("tcp://[::1]:1", True), ("tcp://10.0.0.1:1", False),
    ("tcp://elsewhere:1", False), ("tcp://:1", False),
])  # fmt: skip
def test_only_this_machine_is_trusted_without_tls(address, local):
    assert elsewhere._is_loopback(address) is local
    if local:
        assert Elsewhere(address=address).resolved == address
    assert address == "tcp://:1" or Elsewhere(address=address, trust_network=True).resolved == address


def test_certificates_that_do_not_fit_are_refused(tmp_path):
    (tmp_path / "a.pem").touch()
    files = dict.fromkeys(("tls_ca", "tls_cert", "tls_key"), str(tmp_path / "a.pem"))
    with pytest.raises(ValueError, match="which has no TLS: leave the certificates out, or start it with TLS"):
        Elsewhere(address="tcp://127.0.0.1:1", **files)
    with pytest.raises(ValueError, match="tls_key is 'none.pem', but must be the name of a .pem file"):
        Elsewhere(address="tls://127.0.0.1:1", **files | {"tls_key": "none.pem"})
    with pytest.raises(ValueError, match="TLS needs all of"):
        Elsewhere(address="tls://127.0.0.1:1", **files | {"tls_cert": None})
    assert Elsewhere(address="tls://10.0.0.1:12345", **files).resolved == "tls://10.0.0.1:12345"
    for wrong in ("tls://a:123456", "tls://a:", "http://a:1", "tls://:1x"):
        with pytest.raises(ValueError, match="must be tcp://HOST:PORT or tls://HOST:PORT"):
            Elsewhere(address=wrong, **files)
    (tmp_path / "s.json").write_text(json.dumps({"address": "tcp://127.0.0.1:9"}))
    assert Elsewhere(scheduler_file=str(tmp_path / "s.json")).resolved == "tcp://127.0.0.1:9"
    with pytest.raises(ValueError, match="and not both"):
        Elsewhere()
    # No scheduler writes as much.
    (tmp_path / "s.json").write_text('{"address": "tcp://127.0.0.1:9"' + " " * 1_000_000 + "}")
    with pytest.raises(ValueError, match="which no Dask scheduler wrote"):
        Elsewhere(scheduler_file=str(tmp_path / "s.json"))


def test_signals_are_held_back_and_let_go():
    import signal

    with machine.deaf_to_interrupts():
        assert signal.pthread_sigmask(signal.SIG_BLOCK, set()) >= {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, set()) & machine.ENDS


@pytest.mark.parametrize("change, sentence", [
    ({"solver": "approach", "answers": 5}, "answers is 5, but must be None for an approach to the capacity"),
    ({"solver": "space", "family": "psd"}, "must be 1 and full or linear for sampling, which needs a linear family"),
    ({"solver": "space", "kappa": 0.5}, "kappa is 0.5 .* linear for sampling"),
    ({"solver": "capacity", "family": "psd"}, "family 'psd', but must be 1 and full or linear for an exact capacity"),
    ({"solver": "pruning", "family": "symmetric"}, "must be 1 and full for pruning, which begins with all entries"),
    ({"solver": "bits", "kappa": 0.5}, "must be 1 and full for rounding"),
    ({"solver": "approach", "family": "symmetric"}, "must be 1 and full for an approach to the capacity"),
    ({"d": 0}, "d is 0"), ({"p": 1}, "p is 1"), ({"seed": -1}, "seed is -1"), ({"kappa": 1.1}, "kappa is 1.1"),
])  # fmt: skip
def test_what_cannot_be_run_is_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(Spec("original", 20, 85), **change)


def test_words_of_a_spec():
    spec = Spec("groups:2", 20, 85, 3, answers=5, kappa=0.5)
    assert str(spec) == "groups:2, d = 20, p = 85, 5 answers, kappa = 0.5, paper, seed 3"
    assert str(Spec("original", 20, 85, family="symmetric")) == "original, d = 20, p = 85, symmetric, paper, seed 0"
    assert (Spec("original", 20, 85).passes, Spec("original", 20, 85, solver="hebbian").passes) == (513, 1)
    assert Spec("original", 20, 85, solver="lbfgs").passes == 2000


def test_the_identity_of_a_spec_says_what_differs():
    spec = Spec("original", 20, 85, solver="adam", stop="exact", precision="float16", family="symmetric", answers=4)
    assert spec.identity() == {
        "problem": "original", "d": 20, "p": 85, "seed": 0, "law": "gaussian", "kappa": 1.0, "stored_dtype": "float32",
        "form": "auto", "meaning": 1, "solver": {"name": "adam"}, "family": "symmetric", "answers": 4, "stop": "exact",
        "precision": "float16",
    }  # fmt: skip
    paper = Spec("original", 20, 85).identity()
    assert paper["solver"] == "adam" and paper["protocol"]["stop"] == "paper" and paper["protocol"]["steps"] == 512
    assert Spec("original", 20, 85, solver="hebbian").identity()["solver"] == "hebbian"
    with pytest.raises(ValueError, match="does not describe a run"):
        Spec.from_identity({"d": 3})


def test_groups_are_not_spread(monkeypatch):
    with pytest.raises(
        ValueError, match="devices is 2, but must be left out for groups:2: only original and decoupled"
    ):
        problem_of(Spec("groups:2", 5, 8), devices=2)
    for name in ("spread_original", "spread_decoupled"):
        monkeypatch.setattr(instance, name, lambda stream, *given, name=name: (name, *given))
    assert problem_of(Spec("original", 5, 8, answers=3), devices=2) == ("spread_original", 8, 2, None, 3, "uniform")
    held = problem_of(Spec("decoupled", 5, 8, hold="stored", stored_dtype="float16"), devices=4)
    assert held == ("spread_decoupled", 8, 4, None, "stored", "float16", None, "uniform")


def test_what_is_measured_of_a_run():
    seen = SimpleNamespace(measurement=lambda: SimpleNamespace(accuracy=0.5, violations=3, loss=0.25, margin=-1.0))
    solution = Solution(None, Status.STORED, 4, np.zeros(7), np.zeros(7), 1.0, top_scores=seen)
    made = train.Run(SPECS[0], "words", solution, 1.23456)
    assert made.outcome() == {
        "seed": 0, "accuracy": 0.5, "violations": 3, "loss": 0.25, "margin": -1.0, "steps": 6, "passes": 4,
        "status": "stored", "seconds": 1.2346,
    }  # fmt: skip
    assert replace(made, solution=replace(solution, loss=np.zeros(0), accuracy=np.zeros(0))).outcome()["steps"] == 0


def test_a_sweep_counts_what_the_store_holds(tmp_path):
    """An engine that claims a run without a record, stops, and leaves a damaged record behind."""
    store = Store(tmp_path)
    store.put(record_of(SPECS[0]))
    seen = []

    def work(specs, store, progress):
        assert list(specs) == SPECS[1:]
        store.put(record_of(SPECS[1], "diverged"))
        progress.tell(SPECS[1], None, "once")
        progress.tell(SPECS[1], "diverged")
        progress.tell(SPECS[2], None, "too large")
        progress.lost_workers += 2
        raise SweepError("no room")

    found = run_sweep([*SPECS, SPECS[0]], store, work, lambda progress: seen.append(progress.done))
    assert (found.total, found.before, found.done, found.diverged, found.missing) == (4, 1, 1, 1, 2)
    assert found.failed == {SPECS[2].key: f"{SPECS[2]}: too large"} and found.stopped == "no room"
    assert (found.lost_workers, found.quarantined, found.complete) == (2, 0, False) and seen == [0, 0, 1, 1]
    assert 0 <= found.seconds < 60
    called = []
    done = run_sweep(SPECS[:2], store, lambda *given: called.append(given))
    assert done.complete and not called and (done.before, done.done, done.stopped) == (2, 0, "")


def test_the_pace_is_that_of_what_is_done(monkeypatch):
    monkeypatch.setattr(sweeps.time, "monotonic", lambda: 60.0)
    progress = Progress(4, 0, SPECS, began=50.0)
    assert progress.seconds_left is None
    progress.tell(SPECS[3], "closed form")
    progress.tell(SPECS[3], "closed form")  # told twice, it counts once
    costs = progress._costs.values()
    assert len(costs) == 3 and progress.seconds == 10.0
    assert progress.seconds_left == pytest.approx(10.0 * sum(costs) / progress._cost_done)


def test_one_program_for_the_last_pass_is_compiled_ahead_whatever_the_stop_rule():
    for stop in ("exact", "paper"):
        spec = Spec("original", 6, 12, stop=stop, parameters={"steps": 8, "warmup": 2})
        assert [function.__name__ for function, _ in calls([spec], "cpu")].count("_top_scores") == 1
        made = list(calls([spec], "cpu", 10**9))
        assert [function.__name__ for function, _ in made].count("advance_one") == 1


def test_a_batch_is_compiled_at_its_own_size(monkeypatch):
    specs = [Spec("original", 6, 12, seed, parameters={"steps": 8, "warmup": 2}) for seed in range(5)]
    for size, together, stacked in ((3, 3, 3), (8, 1, 5), (1, 1, None)):
        monkeypatch.setattr(
            "loadstone.runs.compile_ahead.batch_sizes", lambda specs, platform, s=size, t=together: (s, t)
        )
        (trained,) = [given for function, given in calls(specs, "cpu") if function.__name__.startswith("advance")]
        shape = trained[0].inputs.shape
        assert shape == ((12, 6) if stacked is None else (stacked, 12, 6))


def test_words_of_an_error_are_cut():
    assert job.sentence(ValueError("two\n  lines")) == "ValueError: two lines"
    assert len(job.sentence(ValueError("x" * 900))) == 500


def test_places_in_a_list_are_measured_where_one_was_asked_for(monkeypatch):
    memory, asked = object(), []
    attempts = (Attempt(9, True, Status.STORED, 5), Attempt(10, False, Status.OUT_OF_PASSES, 7, "start 2"))
    monkeypatch.setattr(
        reach, "recalled_in_list", lambda problem, memory, length: asked.append((problem, memory, length)) or {"x": 1}
    )
    monkeypatch.setattr(reach, "SameShape", lambda instance, budget: SimpleNamespace(first=lambda p: (instance.p, p)))
    for rivals, kept, seen in ((1, memory, []), (2, None, []), (2, memory, [((9, 9), memory, 2)])):
        monkeypatch.setattr(
            reach, "largest_stored", lambda *given, kept=kept, **named: Reach(9, 10, attempts, 1.5, kept)
        )
        spec = Spec("original", 6, 12, kappa=0.5, solver="reach", parameters={"rivals": rivals})
        (record,) = result.perform([spec])
        assert asked == seen and record.result.get("x") == (1 if seen else None)
        assert record.circumstances["seconds"] == 1.5
        assert (record.result["stored"], record.result["not_stored"], record.result["rank"]) == (9, 10, 3)
        assert record.result["attempts"] == [[9, True, "stored", 5], [10, False, "out of passes", 7]]
        assert record.result["ways"] == ["start 1", "start 2"] and record.result["status"] == "bracketed"


def test_chains_have_the_last_31_bits_of_the_seed(monkeypatch):
    asked = []
    monkeypatch.setattr(
        space, "space_of", lambda arrays, how, seed, family: asked.append((len(arrays.targets), seed)) or {}
    )
    for seed in (5, 2**31 - 1, 2**31 + 3, 2**63):
        (record,) = result.perform([Spec("original", 3, 4, seed, solver="space")])
        assert 0 < record.circumstances["seconds"] < 60
    assert asked == [(4, 5), (4, 2**31 - 1), (4, 3), (4, 0)]


def test_workers_that_fail_to_start_are_replaced_and_counted():
    asked = []
    nannies = {name: SimpleNamespace(status=status) for name, status in enumerate(
        (Status_.running, Status_.closed, Status_.failed))}  # fmt: skip
    here = ThisMachine(3)
    here._cluster = SimpleNamespace(workers=dict(nannies), worker_spec={0: {}, 1: {}, 2: {}}, scale=asked.append)
    here._failed = 0
    here.look_after(False)
    assert list(here._cluster.workers) == [0] and asked == [3] and here._failed == 2
    here.look_after(False)
    assert asked == [3]  # none is gone
    here.look_after(True)
    assert here._failed == 0
    for anyone, ends in ((True, False), (False, True)):
        here._cluster.workers = {name: SimpleNamespace(status=Status_.failed) for name in range(3)}
        if ends:
            with pytest.raises(SweepError, match="no worker starts on this machine"):
                here.look_after(anyone)
        else:
            here.look_after(anyone)
