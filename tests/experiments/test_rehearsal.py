"""The next job's programs are compiled beforehand: all of them, and nothing else happens."""

import threading

import jax
import pytest

from loadstone.experiments import run as running
from loadstone.experiments.engines import job, rehearsal
from loadstone.experiments.engines.job import run_job
from loadstone.experiments.engines.rehearsal import rehearse, rehearse_after
from loadstone.experiments.run import problem_of
from loadstone.experiments.spec import Spec
from loadstone.memories.memory import initial_memory
from loadstone.memories.solution import Status
from loadstone.memories.training import Protocol, train_batch

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
    assert rehearse(specs, "cpu")
    before = len(compilations)
    assert all(report["done"] for report in run_job([spec.identity() for spec in specs], tmp_path))
    assert len(compilations) == before > 0


def test_a_rehearsal_takes_no_step():
    spec = Spec("original", 6, 12, protocol=SHORT)
    memory = initial_memory(spec.d, spec.kappa, spec.seed)
    (found,) = train_batch([problem_of(spec)], [memory], SHORT, rehearsal=True)
    assert found.steps == 0 and found.status == Status.INITIAL
    assert (found.memory.matrix() == memory.matrix()).all()


def test_what_does_not_fit_beside_a_run_or_is_no_run_is_not_rehearsed(monkeypatch):
    monkeypatch.setattr(rehearsal, "begin", None)
    assert not rehearse([Spec("original", 12, 40, solver="capacity")], "cpu")
    monkeypatch.setattr(rehearsal, "Budget", lambda: job.Budget(10**9))
    assert not rehearse([Spec("decoupled", 100, 1000)], "cpu")  # 0.4 GB: more than a quarter
    begun = []
    monkeypatch.setattr(rehearsal, "begin", lambda batch, *others, rehearsal: begun.append(batch))
    for fits in (
        Spec("decoupled", 100, 700),
        Spec("decoupled", 100, 1000, form="regenerated"),
        Spec("original", 100, 1000),
    ):
        assert rehearse([fits], "cpu") and begun.pop() == [fits]


def test_an_error_is_left_for_the_run_itself(monkeypatch):
    def fail(*given, **others):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")

    monkeypatch.setattr(rehearsal, "begin", fail)
    assert rehearse([Spec("original", 6, 12)], "cpu")


def test_only_another_program_on_an_accelerator_is_rehearsed(monkeypatch):
    rehearsed = []
    monkeypatch.setattr(rehearsal, "rehearse", lambda specs, platform: rehearsed.append(specs) or True)
    first, same, other = ([Spec("original", 50, p, kappa=kappa)] for p, kappa in ((400, 1.0), (390, 1.0), (390, 0.5)))
    jobs = [[spec.identity() for spec in specs] for specs in (first, same, other)]
    assert [rehearse_after(jobs[0], after) for after in jobs] == [False] * 3  # here, on a CPU
    monkeypatch.setattr(rehearsal.jax, "default_backend", lambda: "gpu")
    assert [rehearse_after(jobs[0], after) for after in jobs] == [False, False, True]
    assert rehearsed == [other]
