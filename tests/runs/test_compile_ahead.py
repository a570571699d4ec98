"""What a run needs is compiled before it is run: all of it, from shapes alone."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import jax
import pytest

from loadstone.runs import compile_ahead as ahead
from loadstone.runs import plan
from loadstone.runs.compile_ahead import calls, compile_ahead
from loadstone.runs.engines.in_process import InProcess
from loadstone.runs.spec import Spec
from loadstone.runs.store import Store
from loadstone.runs.sweep import run_sweep
from loadstone.solvers import loop
from loadstone.solvers.lbfgs import LBFGS
from loadstone.streams import stream

SHORT = {"steps": 8, "warmup": 2}


@pytest.fixture
def compilations():
    """The names of the functions that were compiled so far."""
    heard = []

    def listen(event, seconds, **others):
        if event == "/jax/core/compile/backend_compile_duration":
            heard.append(str(others.get("fun_name")).removeprefix("jit(").removesuffix(")"))

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield heard
    jax.monitoring.unregister_event_duration_listener(listen)


def ours():
    """The names of all functions of the package that are compiled."""
    modules = [module for name, module in sys.modules.items() if name.startswith("loadstone.")]
    return {name for module in modules for name, held in vars(module).items() if hasattr(held, "eval_shape")}


def names(specs):
    return {function.__name__ for function, _ in calls(specs, "cpu")}


def compile_all(specs):
    with ThreadPoolExecutor(1) as compiler:
        for one in compile_ahead(specs, "cpu", None, compiler):
            one.result()


MANY = {
    "original": Spec("original", 7, 14, parameters=SHORT),
    "decoupled": Spec("decoupled", 7, 14, parameters=SHORT),
    "factored": Spec("original", 7, 14, parameters=SHORT, kappa=0.5),
    "regenerated": Spec("decoupled", 7, 14, parameters=SHORT, hold="regenerated"),
    "float16": Spec("decoupled", 7, 14, parameters=SHORT, stored_dtype="float16"),
    "hebbian": Spec("decoupled", 7, 14, solver="hebbian"),
    "answers": Spec("original", 7, 14, parameters=SHORT, answers=130, frequencies="zipf:1"),
    "decoupled answers": Spec("decoupled", 7, 14, parameters=SHORT, answers=3),
    "groups": Spec("groups:3", 7, 14, parameters=SHORT),
    "initial": Spec("original", 7, 14, solver="initial", law="sphere"),
}


LONG = {"factored", "float16", "groups", "regenerated", "initial"}


@pytest.mark.parametrize(
    "name, size",
    [*(pytest.param(name, 1, marks=pytest.mark.soak if name in LONG else ()) for name in MANY),
     ("original", 2), pytest.param("decoupled", 3, marks=pytest.mark.soak)],
)  # fmt: skip
def test_none_of_the_programs_of_a_run_is_compiled_again(name, size, tmp_path, monkeypatch, compilations):
    specs = [replace(MANY[name], p=14 + size, seed=seed) for seed in range(3)]
    if MANY[name].is_iterative:
        monkeypatch.setattr(plan, "batch_size", lambda spec, platform: size)
    jax.clear_caches()
    compile_all(specs)
    assert names(specs) == set(compilations) and len(names(specs)) >= 6
    del compilations[:]
    assert run_sweep(specs, Store(tmp_path), InProcess()).complete
    # What is left is small: single operations on arrays.
    assert names(specs) <= ours() and not ours() & set(compilations), compilations


def test_it_holds_for_all_loads_that_share_a_program(tmp_path, monkeypatch, compilations):
    monkeypatch.setattr("loadstone.tasks.batches.padded_rows", lambda problem, p, d, platform: 32)
    specs = [Spec("original", 7, p, parameters=SHORT) for p in (30, 25, 20)]
    jax.clear_caches()
    compile_all(specs)
    del compilations[:]
    assert run_sweep(specs, Store(tmp_path), InProcess()).complete
    assert not ours() & set(compilations), compilations


def test_it_holds_for_a_stream_that_is_made_in_more_than_one_block(tmp_path, compilations):
    specs = [Spec("original", 7, 140, solver="hebbian")]
    jax.clear_caches()
    compile_all(specs)
    del compilations[:]
    assert run_sweep(specs, Store(tmp_path), InProcess()).complete
    assert not ours() & set(compilations), compilations


def test_the_last_pass_of_an_exact_end_is_compiled_ahead(tmp_path, compilations):
    specs = [Spec("original", 7, 3, parameters={"steps": 60, "warmup": 2}, stop="exact")]
    jax.clear_caches()
    compile_all(specs)
    assert "_top_scores" in compilations
    del compilations[:]
    store = Store(tmp_path)
    assert run_sweep(specs, store, InProcess()).complete and store.get(specs[0].key).result["status"] == "stored"
    assert not ours() & set(compilations), compilations


def test_a_search_is_compiled_in_its_first_precision(monkeypatch):
    monkeypatch.setattr(LBFGS, "precisions", lambda self: ("float16", "float32"))
    spec = Spec("original", 7, 14, solver="lbfgs", stop="exact")
    for given, expected in ((spec, "float16"), (replace(spec, precision="float64"), "float64")):
        plans = [arguments[3] for function, arguments in calls([given], "cpu") if function is loop.advance_one]
        assert [one.precision for one in plans] == [expected]


def test_the_rounding_of_decoupled_outputs_is_compiled_ahead(tmp_path, monkeypatch, compilations):
    monkeypatch.setattr("loadstone.problems.decoupled.is_faster_in_float16", lambda case: True)
    specs = [Spec("decoupled", 7, 15, parameters=SHORT, precision="float16", seed=seed) for seed in range(2)]
    jax.clear_caches()
    compile_all(specs)
    assert "rounded_part" in compilations
    del compilations[:]
    assert run_sweep(specs, Store(tmp_path), InProcess()).complete
    assert not ours() & set(compilations), compilations


@pytest.mark.parametrize("solver, facts", [("paper", 14), ("reach", 17)])
def test_a_gpu_makes_the_outputs_of_all_facts_at_once(solver, facts, monkeypatch):
    """A bisection has room for 15 % more facts."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    spec = Spec("decoupled", 7, 14, answers=3, solver=solver, parameters=SHORT if solver == "paper" else ())
    made = [arguments for function, arguments in calls([spec], "gpu") if function is stream._decoupled_block]
    assert [arguments[2] for arguments in made] == [facts]


def test_no_array_is_made():
    """A problem that no memory could hold: 2 TB of outputs."""
    spec = Spec("decoupled", 500, 32_000, parameters=SHORT)
    assert [function.__name__ for function, _ in calls([spec], "cpu", 2**62)].count("advance_one") == 1


REACHED = {
    "full": Spec("original", 7, 26, solver="reach"),
    "factored": Spec("original", 7, 18, kappa=0.5, solver="reach", parameters={"passes": 60}),
    "decoupled": Spec("decoupled", 7, 26, solver="reach", parameters={"passes": 60}),
    "several starts": Spec("original", 11, 36, kappa=0.95, solver="reach", parameters={"passes": 60, "starts": 2}),
    "one precision": Spec(
        "original", 7, 30, solver="reach", answers=9,
        parameters={"digits": "float16", "enough": "99%", "optimiser": "adam:0.1"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.soak if name in ("factored", "decoupled", "several starts") else ())
        for name in REACHED
    ],
)
def test_none_of_the_programs_of_a_bisection_is_compiled_again(name, tmp_path, monkeypatch, compilations):
    monkeypatch.setattr(LBFGS, "precisions", lambda self: ("float16", "float32"))  # as on a GPU: one, then more digits
    specs = [replace(REACHED[name], seed=seed) for seed in range(2)]
    jax.clear_caches()
    compile_all(specs)
    searches = {"one precision": 1, "several starts": 4}.get(name, 2)
    assert compilations.count("advance_one") == searches and names(specs) == set(compilations)
    del compilations[:]
    store = Store(tmp_path)
    assert run_sweep(specs, store, InProcess()).complete
    assert all(len(store.get(spec.key).result["attempts"]) >= 2 for spec in specs)
    assert not ours() & set(compilations), compilations


def test_what_else_is_measured_of_whole_streams_compiles_nothing():
    for solver in ("capacity", "approach", "margin", "edits"):
        assert not names([Spec("original", 12, 40, solver=solver)])


@pytest.mark.parametrize("size, together, stacked", [(3, 3, (3, 12, 6)), (8, 1, (5, 12, 6)), (1, 1, (12, 6))])
def test_a_batch_is_compiled_at_its_own_size(size, together, stacked, monkeypatch):
    monkeypatch.setattr(ahead, "batch_sizes", lambda specs, platform: (size, together))
    specs = [Spec("original", 6, 12, seed, parameters=SHORT) for seed in range(5)]
    shape = lambda *budget: next(  # noqa: E731
        given[0].inputs.shape
        for function, given in calls(specs, "cpu", *budget)
        if function.__name__.startswith("advance")
    )
    assert shape() == stacked and shape(10**9) == (12, 6)  # a budget is for one problem at a time


def test_all_compilers_work_on_the_first_program_first(monkeypatch):
    """Its functions wait for each other here, which they could not do in one thread."""
    meeting, begun = threading.Barrier(3), []
    function = SimpleNamespace(lower=lambda p: SimpleNamespace(compile=lambda: begun.append(p) or meeting.wait(30)))
    monkeypatch.setattr(ahead, "calls", lambda specs, *_: [(function, (specs[0].p,))] * 3)
    with ThreadPoolExecutor(3) as compilers:
        both = [one for p in (16, 14) for one in compile_ahead([Spec("original", 6, p)], "gpu", None, compilers)]
        assert not any(one.exception() for one in both)
    assert begun == [16] * 3 + [14] * 3
