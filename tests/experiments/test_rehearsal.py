"""The next job's programs are compiled beforehand: all of them, and nothing else happens."""

import threading

import jax
import pytest

from loadstone.experiments import run as running
from loadstone.experiments.engines import job, rehearsal
from loadstone.experiments.engines.inbox import Inbox
from loadstone.experiments.engines.job import run_job
from loadstone.experiments.engines.rehearsal import rehearse, rehearse_after
from loadstone.experiments.run import problem_of
from loadstone.experiments.spec import Spec
from loadstone.memories.families import initial_memory
from loadstone.problems.budget import Budget
from loadstone.solvers.gradient import Protocol, train_batch
from loadstone.solvers.solution import Status

SHORT = Protocol(steps=8, warmup=2)


@pytest.fixture
def compilations():
    """How often the compiler was called so far."""
    heard = []

    def listen(event, seconds, **others):
        if event == "/jax/core/compile/backend_compile_duration":
            heard.append(threading.current_thread().name)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield heard
    jax.monitoring.unregister_event_duration_listener(listen)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("problem", ["original", "decoupled"])
def test_after_a_rehearsal_nothing_is_left_to_compile(problem, size, tmp_path, monkeypatch, compilations):
    specs = [Spec(problem, 7, 13 + size, seed, protocol=SHORT) for seed in range(3)]
    monkeypatch.setattr(job, "batch_size", lambda spec, platform: size)
    # In a thread of its own, as a worker does it.
    aside = threading.Thread(target=rehearse, args=(specs, "cpu"))
    aside.start()
    aside.join()
    before = len(compilations)
    assert before > 0
    assert all(report["done"] for report in run_job([spec.identity() for spec in specs], tmp_path))
    assert len(compilations) == before


def test_it_holds_for_all_loads_that_share_a_program(tmp_path, monkeypatch, compilations):
    monkeypatch.setattr(running, "padded_rows", lambda spec, platform: 32)
    specs = [Spec("original", 7, p, protocol=SHORT) for p in (30, 25, 20)]
    rehearse(specs, "cpu")
    before = len(compilations)
    assert all(report["done"] for report in run_job([spec.identity() for spec in specs], tmp_path))
    assert len(compilations) == before > 0


def test_a_rehearsal_takes_no_step():
    spec = Spec("original", 6, 12, protocol=SHORT)
    memory = initial_memory(spec.d, spec.kappa, spec.seed)
    (found,) = train_batch([problem_of(spec)], [memory], SHORT, rehearsal=True)
    assert found.steps == 0 and found.status == Status.INITIAL
    assert (found.memory.matrix() == memory.matrix()).all()


@pytest.fixture
def rehearsed(monkeypatch):
    """What is rehearsed on a device that passes for a GPU with 2 GB free."""
    found = []
    monkeypatch.setattr(rehearsal, "rehearse", lambda specs, platform: found.append(specs))
    monkeypatch.setattr(rehearsal, "Budget", lambda: Budget(10**9))
    monkeypatch.setattr(rehearsal.jax, "default_backend", lambda: "gpu")
    return found


def after(before, *specs):
    return rehearse_after([before.identity()], [spec.identity() for spec in specs])


SMALL, SAME, OTHER = (Spec("original", 50, p, kappa=kappa) for p, kappa in ((400, 1.0), (390, 1.0), (390, 0.5)))


def test_only_another_program_or_another_number_of_runs_is_rehearsed(rehearsed):
    assert not after(SMALL, SMALL) and not after(SMALL, SAME) and not rehearsed
    assert after(SMALL, OTHER) and rehearsed.pop() == [OTHER]
    assert after(SMALL, SMALL, SAME) and rehearsed.pop() == [SMALL, SAME]


def test_a_cpu_does_not_rehearse(rehearsed, monkeypatch):
    monkeypatch.setattr(rehearsal.jax, "default_backend", lambda: "cpu")
    assert not after(SMALL, OTHER) and not rehearsed


def test_what_would_take_memory_from_a_run_is_not_rehearsed(rehearsed):
    assert not after(SMALL, Spec("original", 12, 40, solver="capacity"))
    large = Spec("decoupled", 150, 1000)  # 0.6 GB
    assert after(SMALL, large) and not after(Spec("decoupled", 150, 1000, kappa=0.5), large)
    assert not after(SMALL, Spec("decoupled", 150, 1400)) and not after(SMALL, *[Spec("decoupled", 100, 1000)] * 4)
    for spec in (Spec("decoupled", 150, 1400, form="regenerated"), Spec("original", 150, 1400)):
        assert after(SMALL, spec)


@pytest.mark.parametrize(
    "spec", [Spec("original", 20, 500), Spec("decoupled", 10, 90), Spec("decoupled", 10, 90, form="regenerated")]
)
def test_no_run_takes_more_than_is_counted(spec):
    """The same figures as those by which problems refuse a budget."""
    needed = rehearsal._bytes([spec], "cpu")
    assert "regenerated" not in problem_of(spec, Budget(needed)).form or spec.form == "regenerated"
    if spec.problem == "decoupled" and spec.form != "regenerated":
        assert "regenerated" in problem_of(spec, Budget(needed - 1)).form
    else:
        with pytest.raises(ValueError, match="budget"):
            problem_of(spec, Budget(needed - 1))


def test_an_error_is_left_for_the_run_itself(rehearsed, monkeypatch):
    def fail(*given, **others):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")

    monkeypatch.setattr(rehearsal, "rehearse", fail)
    assert not after(SMALL, OTHER)
    monkeypatch.setattr(rehearsal, "Budget", lambda: Budget(0))
    assert not after(SMALL, OTHER)


def test_a_job_is_rehearsed_while_the_one_before_it_runs_and_is_taken_afterwards():
    asked, begun, go_on = [], threading.Event(), threading.Event()

    def slowly(before, job):
        asked.append((before, job))
        begun.set()
        assert go_on.wait(30)

    inbox = Inbox(slowly)
    first, second, third = ([{"job": name}] for name in range(3))
    inbox.put(first)
    assert inbox.take() is first  # the first is not rehearsed
    inbox.put(second)
    taken = []
    taker = threading.Thread(target=lambda: taken.append(inbox.take()))
    taker.start()
    assert begun.wait(30)
    taker.join(0.2)
    assert not taken and asked == [(first, second)]
    go_on.set()
    taker.join()
    assert taken == [second]
    inbox.done(first), inbox.done(second)
    inbox.put(third)  # nothing runs just now
    assert inbox.take() is third and len(asked) == 1


def test_an_inbox_without_rehearsals_and_one_whose_rehearsal_fails():
    plain = Inbox()
    plain.put([1]), plain.put([2])
    assert [plain.take(), plain.take()] == [[1], [2]]

    def mistaken(before, job):
        raise TypeError("a mistake of ours")

    inbox = Inbox(mistaken)
    inbox.put([1]), inbox.put([2])
    assert inbox.take() == [1]
    with pytest.raises(TypeError, match="of ours"):
        inbox.take()
