"""Beside an accelerator several programs run at a time in threads; large ones have it to themselves."""

import signal
import threading
import time
from dataclasses import replace

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


@pytest.fixture
def accelerator(monkeypatch):
    """Take this CPU for an accelerator; what is compiled ahead is left out."""
    monkeypatch.setattr(in_process.jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(in_process, "by_program", lambda specs, platform: plan.by_program(specs, "cpu"))
    monkeypatch.setattr(in_process, "compile_ahead", lambda *given: [])
    monkeypatch.setattr(job, "batch_sizes", lambda specs, platform: (1, 1))


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


def test_only_the_next_programs_are_compiled(tmp_path, monkeypatch, accelerator):
    """The one that was taken, six from one end and one from the other; one more with every program that is taken."""
    compiled, seen = [], []

    def wait_for_the_compiler(spec):
        while len(compiled) < min(8 + len(seen), 14):
            time.sleep(0.01)
        time.sleep(0.05)
        seen.append(sorted(compiled, reverse=True))

    monkeypatch.setattr(in_process, "compile_ahead", lambda specs, *_: compiled.append(specs[0].p) or [])
    monkeypatch.setattr(in_process, "_LANES", 1)
    beginning(monkeypatch, wait_for_the_compiler)
    many = [Spec("original", 6, p, parameters=SHORT) for p in range(30, 16, -1)]
    assert run_sweep(many, Store(tmp_path), InProcess()).complete
    assert seen[0] == [30, 29, 28, 27, 26, 25, 24, 17] and seen[1] == [30, 29, 28, 27, 26, 25, 24, 23, 17]
    assert seen[-1] == list(range(30, 16, -1))


def test_the_program_of_several_runs_is_compiled_once(monkeypatch):
    listed = []
    monkeypatch.setattr(in_process, "compile_ahead", lambda *given: listed.append(given[:3]) or [])
    compilers, alike = in_process._Compilers("gpu", 7), [replace(SPECS[0], seed=seed) for seed in range(2)]
    for _ in range(2):
        compilers.begin(alike)
        assert compilers.error(alike) is None
    compilers.end()
    assert listed == [(alike, "gpu", 7)]


@pytest.mark.parametrize("budget, alone", [(2**30, False), (None, True)])
def test_large_programs_and_those_with_a_budget_run_one_after_another(
    tmp_path, monkeypatch, accelerator, budget, alone
):
    monkeypatch.setattr(in_process, "has_the_device_alone", lambda spec: alone)
    threads = set()
    beginning(monkeypatch, lambda spec: threads.add(threading.current_thread()))
    current = {}
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


def test_once_it_is_over_nothing_more_is_compiled(tmp_path, monkeypatch, accelerator):
    """Each program has two functions, and there are three compilers. The first program is compiled and three more
    functions are being compiled when its run is interrupted; the others never are."""
    begun, go_on = [], threading.Event()

    def compile_slowly(p):
        begun.append(p)
        return p == 30 or go_on.wait(60)

    def interrupted(spec):
        while len(begun) < 5:
            time.sleep(0.01)
        threading.Timer(0.3, go_on.set).start()
        raise KeyboardInterrupt

    def compile_both(specs, platform, budget, compilers):
        return [compilers.submit(compile_slowly, specs[0].p) for _ in range(2)]

    monkeypatch.setattr(in_process, "compile_ahead", compile_both)
    beginning(monkeypatch, interrupted)
    monkeypatch.setattr(in_process, "_LANES", 1)
    many = [Spec("original", 6, p, parameters=SHORT) for p in range(30, 10, -1)]
    with pytest.raises(KeyboardInterrupt):
        run_sweep(many, Store(tmp_path), InProcess())
    time.sleep(0.6)
    assert sorted(begun, reverse=True) == [30, 30, 29, 29, 28] and not Store(tmp_path).keys()


@pytest.mark.parametrize("lists", [True, False])
def test_a_thread_that_waits_for_the_compiler_ends_with_the_others(lists, tmp_path, monkeypatch, accelerator):
    """All programs but the first wait, for the compiler or to be listed: for something that will never be."""
    go_on, first = threading.Event(), []
    monkeypatch.setattr(in_process, "_COMPILERS", 1)

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
    monkeypatch.setattr(in_process, "_LANES", 2)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_sweep(long, Store(tmp_path), InProcess())
    assert time.monotonic() - began < 20 and not Store(tmp_path).keys()


@pytest.mark.parametrize("spec, alone", [
    (Spec("original", 500, 24_715), False), (Spec("original", 512, 24_715), False), (Spec("original", 513, 24), True),
    (Spec("decoupled", 150, 2831), False), (Spec("decoupled", 150, 2886), False), (Spec("decoupled", 150, 2887), True),
    (Spec("decoupled", 150, 2887, answers=2800), False), (Spec("decoupled", 20, 30, hold="regenerated"), True),
    (Spec("original", 20, 30, solver="reach"), False), (Spec("original", 20, 30, solver="capacity"), True),
    (Spec("original", 20, 30, solver="hebbian"), False), (Spec("original", 1000, 2, solver="initial"), False),
    (Spec("original", 1024, 60_000, solver="reach"), True), (Spec("original", 512, 60_000, solver="reach"), False),
])  # fmt: skip
def test_which_runs_have_the_device_to_themselves(spec, alone):
    """1250 million numbers at most beside others: 2886^2 x 150 are fewer, 2887^2 x 150 are more."""
    assert plan.has_the_device_alone(spec) == alone
