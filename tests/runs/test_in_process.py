"""Beside an accelerator several programs run at a time in threads; large ones have it to themselves."""

import logging
import signal
import threading
import time
from dataclasses import replace

import jax
import pytest

from loadstone.runs import plan
from loadstone.runs import worker as job
from loadstone.runs.engines import in_process
from loadstone.runs.engines.in_process import InProcess
from loadstone.runs.spec import Spec
from loadstone.runs.store import Store
from loadstone.runs.sweep import run_sweep

SHORT = {"steps": 8, "warmup": 2}
SPECS = [Spec("original", 6, p, parameters=SHORT) for p in (22, 20, 18, 16, 14)]
MANY = [Spec("original", 6, p, parameters=SHORT) for p in range(30, 18, -1)]


@pytest.fixture
def accelerator(monkeypatch):
    """Take this CPU for an accelerator; what is compiled ahead is left out."""
    monkeypatch.setattr(in_process.jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(in_process, "by_program", lambda specs, platform: plan.by_program(specs, "cpu"))
    monkeypatch.setattr(in_process, "compile_ahead", lambda *given: [])
    monkeypatch.setattr(job, "batch_sizes", lambda specs, platform: (1, 1))


@pytest.fixture
def alone(monkeypatch, accelerator):
    """Every program has the device to itself."""
    monkeypatch.setattr(in_process, "has_the_device_alone", lambda spec: True)


def beginning(monkeypatch, before):
    """Let every run begin with a call of `before`."""
    begin = job.begin

    def begin_after(specs, *more):
        before(specs[0])
        return begin(specs, *more)

    monkeypatch.setattr(job, "begin", begin_after)


def test_five_programs_run_at_a_time(tmp_path, monkeypatch, accelerator):
    """They wait for each other, which none could do alone."""
    meeting = threading.Barrier(5)
    beginning(monkeypatch, lambda spec: meeting.wait(30))
    current = {}
    assert run_sweep(SPECS, Store(tmp_path), InProcess(), lambda progress: current.update(progress.current)).complete
    assert current.keys() == {f"thread {number}" for number in range(1, 6)}


def test_one_lane_begins_with_the_shortest_programs(tmp_path, monkeypatch, accelerator):
    """The others begin with the longest; every program is run once."""
    begun, meeting = {}, threading.Barrier(5)

    def in_its_lane(spec):
        mine = begun.setdefault(threading.current_thread(), [])
        mine.append(spec.p)
        if len(mine) == 1:
            meeting.wait(30)  # until every lane has taken its first

    beginning(monkeypatch, in_its_lane)
    many = [Spec("original", 6, p, parameters=SHORT) for p in range(30, 16, -1)]
    assert run_sweep(many, Store(tmp_path), InProcess()).complete
    assert sorted(mine[0] for mine in begun.values()) == [17, 27, 28, 29, 30]
    assert sorted(p for mine in begun.values() for p in mine) == list(range(17, 31))


def test_programs_are_compiled_once_and_in_time_but_not_long_before_they_run(tmp_path, monkeypatch, alone):
    """Each in another thread, before it runs; those that have the device alone run first and one after the other."""
    events, here = [], threading.current_thread()

    def compile_and_say(specs, platform, budget, compilers):
        assert threading.current_thread() is not here and (platform, budget) == ("gpu", None)
        return [compilers.submit(lambda: time.sleep(0.02) or events.append(("compiled", specs[0].p)))]

    monkeypatch.setattr(in_process, "compile_ahead", compile_and_say)
    beginning(monkeypatch, lambda spec: spec.seed == 0 and events.append(("run", spec.p)))
    assert run_sweep([*MANY, replace(MANY[-1], seed=1)], Store(tmp_path), InProcess()).complete
    order = [spec.p for spec in MANY]
    assert [p for what, p in events if what == "run"] == order
    assert sorted((p for what, p in events if what == "compiled"), reverse=True) == order
    assert all(events.index(("compiled", p)) < events.index(("run", p)) for p in order)
    assert "run" in [what for what, _ in events[: len(order)]]


@pytest.mark.parametrize("listing", [True, False])
def test_an_error_of_compiling_is_left_for_the_run_itself(listing, tmp_path, monkeypatch, accelerator, caplog):
    """Whether it comes while functions are listed or while the second of them is compiled."""

    def fail(*given):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")

    def compile_two(specs, platform, budget, compilers):
        return [compilers.submit(int), compilers.submit(fail)]

    monkeypatch.setattr(in_process, "compile_ahead", fail if listing else compile_two)
    with caplog.at_level(logging.INFO, "loadstone"):
        assert run_sweep(SPECS, Store(tmp_path), InProcess()).complete
    assert "p = 14" in caplog.text and "was not compiled ahead: RESOURCE_EXHAUSTED" in caplog.text


def test_a_cpu_compiles_as_it_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(in_process, "compile_ahead", None)
    assert run_sweep(SPECS, Store(tmp_path), InProcess()).complete


@pytest.mark.parametrize("budget", [2**30, None])
def test_large_programs_and_those_with_a_budget_run_one_after_another(budget, tmp_path, monkeypatch, request):
    request.getfixturevalue("accelerator" if budget else "alone")
    threads, current = set(), {}
    beginning(monkeypatch, lambda spec: threads.add(threading.current_thread()))
    engine = InProcess(budget)
    assert run_sweep(SPECS, Store(tmp_path), engine, lambda progress: current.update(progress.current)).complete
    assert threads == {threading.current_thread()} and current.keys() == {"this process"}


def test_a_disk_that_is_full_ends_all_threads(tmp_path, monkeypatch, accelerator):
    begun, started = [], threading.Barrier(3)
    beginning(monkeypatch, lambda spec: begun.append(spec.p) or (spec.p >= 18 and started.wait(30)))

    def full(store, record):
        raise OSError("No space left on device")

    monkeypatch.setattr(Store, "put", full)
    found = run_sweep(SPECS, Store(tmp_path), InProcess())
    assert found.stopped == f"the store {tmp_path} cannot be written: No space left on device."
    assert found.missing == len(SPECS) and not found.done


def test_ctrl_c_ends_the_other_threads(tmp_path, monkeypatch, accelerator):
    """The thread of the command hears it. The others have more to do, and do not begin it."""
    here, meeting = threading.current_thread(), threading.Barrier(3)

    def interrupted(spec):
        if spec.p >= 18:
            meeting.wait(30)
        if threading.current_thread() is here:
            raise KeyboardInterrupt

    many = [Spec("original", 6, p, seed, parameters=SHORT) for p in (22, 20, 18) for seed in range(40)]
    begun = []
    beginning(monkeypatch, lambda spec: begun.append(spec) or (spec.seed == 0 and interrupted(spec)))
    with pytest.raises(KeyboardInterrupt):
        run_sweep(many, Store(tmp_path), InProcess())
    assert 3 <= len(begun) < len(many)


def test_once_it_is_over_nothing_more_is_compiled(tmp_path, monkeypatch, alone):
    """Each program has two functions. The first program is compiled, and what comes next is being compiled when its run
    is interrupted: that is finished, and nothing else begun."""
    begun, go_on = [], threading.Event()

    def compile_slowly(p):
        begun.append(p)
        return p == 30 or go_on.wait(60)

    def interrupted(spec):
        while len(begun) < 3:  # something of the next program is being compiled
            time.sleep(0.01)
        raise KeyboardInterrupt

    def compile_both(specs, platform, budget, compilers):
        return [compilers.submit(compile_slowly, specs[0].p) for _ in range(2)]

    monkeypatch.setattr(in_process, "compile_ahead", compile_both)
    beginning(monkeypatch, interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(MANY, Store(tmp_path), InProcess())
    go_on.set()
    time.sleep(0.5)  # in which all would be compiled
    assert begun[:2] == [30, 30] and 3 <= len(begun) < 8 and not Store(tmp_path).keys()


@pytest.mark.parametrize("lists", [True, False])
def test_a_thread_that_waits_for_the_compiler_ends_with_the_others(lists, tmp_path, monkeypatch, accelerator):
    """All programs but the first wait, for the compiler or to be listed: for something that will never be."""
    go_on, first = threading.Event(), []

    def compile_first(specs, platform, budget, compilers):
        first.append(specs[0].p)
        if len(first) == 1:
            return []
        if lists:
            return [compilers.submit(go_on.wait, 60)]
        go_on.wait(60)
        return []

    def interrupted(spec):
        assert spec.p == first[0]
        threading.Timer(0.3, go_on.set).start()
        raise KeyboardInterrupt

    monkeypatch.setattr(in_process, "compile_ahead", compile_first)
    beginning(monkeypatch, interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(SPECS, Store(tmp_path), InProcess())
    assert not Store(tmp_path).keys()


def test_a_search_in_another_thread_is_abandoned_within_a_segment(tmp_path, monkeypatch, accelerator):
    """It would take hours; nothing of it is recorded, and it counts as no failure."""
    long = [Spec("original", 6, p, stop="none", parameters={"steps": 2 * 10**6, "warmup": 2}) for p in (22, 20)]
    here, begun, failed = threading.current_thread(), threading.Event(), {}

    def interrupted_once_the_other_has_begun(spec):
        if threading.current_thread() is not here:
            begun.set()
        elif begun.wait(60):
            raise KeyboardInterrupt

    beginning(monkeypatch, interrupted_once_the_other_has_begun)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(long, Store(tmp_path), InProcess(), lambda progress: failed.update(progress.failed))
    assert begun.is_set() and not failed and not Store(tmp_path).keys()


def test_ctrl_c_ends_a_search_that_the_main_thread_waits_for(tmp_path, monkeypatch, accelerator):
    """The main thread has nothing left to run when it is interrupted."""
    long = [Spec("original", 6, p, stop="none", parameters={"steps": 2 * 10**6, "warmup": 2}) for p in (22, 20)]
    here, begun = threading.current_thread(), threading.Event()

    def nothing_to_do_here(runner, specs):
        if threading.current_thread() is here:
            begun.wait(60)
        else:
            begun.set()
            threading.Timer(1, lambda: signal.pthread_kill(here.ident, signal.SIGINT)).start()
            run(runner, specs)

    run = job.Runner.run
    monkeypatch.setattr(job.Runner, "run", nothing_to_do_here)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_sweep(long, Store(tmp_path), InProcess())
    assert time.monotonic() - began < 20 and not Store(tmp_path).keys()
