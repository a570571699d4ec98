"""The skeletons of docs/extending.md, taken from the page as they stand, do what the page says."""

import importlib.util
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels import table
from loadstone.measurements.accuracy import measure
from loadstone.memories.families import FAMILIES, initial_memory
from loadstone.memories.files import load_memory, save_memory
from loadstone.memories.subspaces.registry import SUBSPACES
from loadstone.problems.decoupled import decoupled
from loadstone.problems.instance import Instance
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.proofs.certificate import check_proof, write_proof
from loadstone.runs.grid import grid
from loadstone.runs.result import perform
from loadstone.runs.spec import Spec
from loadstone.solvers.decide import decide
from loadstone.solvers.hebbian import hebbian
from loadstone.solvers.registry import SOLVERS
from loadstone.solvers.solve import solve, solve_batch
from loadstone.streams.laws.registry import LAWS
from loadstone.streams.stream import Stream
from loadstone.tasks import TASKS
from loadstone.theory.answers import facts_capacity
from loadstone.theory.families import FaceLaw, statistical_dimension

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text()


def skeleton(heading: str, folder: Path):
    """The first block of Python under a heading, as a module in a file of its own."""
    section = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]
    path = folder / f"{heading.split()[-1]}.py"
    path.write_text(re.search(r"```python\n(.*?)```", section, re.DOTALL)[1])
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_memory_of_your_own():
    section = re.search(r"^## A memory of your own$(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)[1]
    exec(re.search(r"```python\n(.*?)```", section, re.DOTALL)[1], {})


@pytest.fixture
def kronecker(tmp_path, monkeypatch):
    monkeypatch.setitem(FAMILIES, "kronecker", skeleton("A family of memories", tmp_path).Kronecker)


def test_a_family_is_trained_saved_and_loaded(kronecker, tmp_path):
    problem = original(Stream(0, 12), 6)
    solution = solve(problem, initial_memory(12, seed=1, family="kronecker:4"), stop="exact")
    weights = np.asarray(solution.memory.matrix()).reshape(4, 3, 4, 3)
    assert np.linalg.matrix_rank(weights.transpose(0, 2, 1, 3).reshape(16, 9)) == 1
    assert measure(problem, solution.memory).violations == 0
    save_memory(tmp_path / "kronecker.safetensors", solution.memory)
    loaded = load_memory(tmp_path / "kronecker.safetensors")
    assert type(loaded) is type(solution.memory) and (np.asarray(loaded.inner) == solution.memory.inner).all()
    together = solve_batch([problem, problem], [initial_memory(12, seed=s, family="kronecker:4") for s in (1, 2)])
    assert len(together) == 2 and all(solution.accuracy[-1] == 1 for solution in together)


def test_a_family_has_its_parameter_in_specs_and_commands(kronecker, command, tmp_path):
    spec = Spec("original", 12, 6, family="kronecker:factor=4", solver="lbfgs", stop="exact")
    assert spec.family == "kronecker:4" and spec == replace(spec, family="kronecker:4")
    (record,) = perform([spec])
    assert record.spec["family"] == "kronecker:factor=4" and record.result["accuracy"] == 1
    assert Spec.from_identity(record.spec) == spec != replace(spec, family="kronecker:6")
    assert [one.family for one in grid(problem="original", d=12, p=6, family="kronecker:4")] == ["kronecker:4"]
    done = command(
        "train", "--d", 12, "--p", 6, "--family", "kronecker:4", "--out", tmp_path / "k.safetensors", "--json"
    )
    assert done.returncode == 0 and '"family": "kronecker:4"' in done.stdout
    assert load_memory(tmp_path / "k.safetensors").outer.shape == (4, 4)
    with pytest.raises(ValueError, match="kappa is 0.5, but must be 1 for the family 'kronecker:4'"):
        replace(spec, kappa=0.5)
    for family, sentence in (
        ("kronecker", "family is 'kronecker', but must be given with factor"),
        ("kronecker:5", "factor is 5, but must be a divisor of d = 12"),
        ("kronecker:4,2", "must be kronecker with at most 1 parameters"),
        ("kronecker:rank=2", r"family parameter is 'rank', but must be a parameter of kronecker \(factor\)"),
    ):
        with pytest.raises(ValueError, match=sentence):
            replace(spec, family=family)


def test_a_family_is_predicted(kronecker, command):
    law = facts_capacity("kronecker:4", 24, answers=40)
    room = statistical_dimension("kronecker:factor=4", 24)
    assert room.delta == (4 + 6) ** 2 and room.bound and room.family == "kronecker:4"
    values = np.linalg.svd(np.random.default_rng(0).standard_normal((200, 16, 36)), compute_uv=False)[:, 0]
    assert 0.8 * room.delta < (values**2).mean() < room.delta  # from below, in the limit of large sizes
    done = command("predict", "--d", 24, "--answers", 40, "--family", "kronecker:4", "--json")
    assert json.loads(done.stdout)["facts_c"] == law
    # What a search stores stays below the bound.
    stored = original(Stream(0, 24), 60)
    assert law < 60 and solve(stored, initial_memory(24, family="kronecker:4")).status != "stored"


def test_a_linear_family(tmp_path, monkeypatch, command):
    kind = skeleton("A linear family", tmp_path).Toeplitz
    monkeypatch.setitem(SUBSPACES, "toeplitz", kind)
    for p, verdict in ((4, "storable"), (9, "not storable")):
        arrays = Instance(Stream(0, 6), p).arrays()
        found = decide(arrays, family="toeplitz")
        assert found.verdict == verdict
        write_proof(tmp_path / "proof.npz", arrays, verdict=found)
        checked = check_proof(tmp_path / "proof.npz")
        assert checked.valid and checked.verdict == verdict and checked.family == "toeplitz"
    problem = original(Stream(0, 6), 4)
    for seen, delta in ((6, 11), (2, 11), (1, 6)):  # as many numbers as B W shows of the 11
        assert statistical_dimension("toeplitz", 6, directions=seen).faces == FaceLaw(delta)
    solution = solve(problem, initial_memory(6, family="toeplitz"))
    save_memory(tmp_path / "toeplitz.safetensors", solution.memory)
    weights = np.asarray(load_memory(tmp_path / "toeplitz.safetensors").matrix())
    assert solution.status == "stored" and (weights[1:, 1:] == weights[:-1, :-1]).all()
    done = command("capacity", "--d", 6, "--family", "toeplitz", "--seeds", 3, "--json")
    exact = json.loads(done.stdout)
    assert abs(exact["mean_p_c"] - exact["predicted_p_c"]) < 3 and exact["dimensions"] == 11
    predicted = json.loads(command("predict", "--d", 6, "--family", "toeplitz", "--json").stdout)
    assert predicted["facts_c"] == exact["predicted_p_c"] and not predicted["bound"]


def test_a_solver(tmp_path, monkeypatch, command):
    monkeypatch.setitem(SOLVERS, "heavy ball", skeleton("A solver", tmp_path).HeavyBall)
    problem = original(Stream(0, 14), 20)
    solution = solve(problem, solver="heavy ball:momentum=0.8", stop="exact")
    assert solution.status == "stored" and measure(problem, solution.memory).violations == 0
    spec = Spec("original", 14, 20, solver="heavy ball", parameters={"momentum": 0.8}, stop="exact")
    (record,) = perform([spec])
    assert record.spec["solver"] == {"name": "heavy ball", "momentum": 0.8}
    assert record.result["loss_trace"] == pytest.approx(solution.loss.tolist(), rel=1e-6)
    assert Spec.from_identity(record.spec) == spec
    done = command("train", "--d", 14, "--p", 20, "--solver", "heavy ball", "--set", "learning_rate=0.2", "--json")
    assert done.returncode == 0 and '"solver": "heavy ball"' in done.stdout


def test_a_law(tmp_path, monkeypatch, command):
    monkeypatch.setitem(LAWS, "sparse", skeleton("An embedding law", tmp_path).Sparse)
    stream = Stream(0, 40, law="sparse:0.2")
    assert stream == Stream(0, 40, law="sparse:share=0.2") and stream.law == "sparse:share=0.2"
    inputs = np.asarray(stream.inputs(4000), np.float64)
    # 160 000 components: the share scatters by sqrt(0.2 * 0.8 / 160000) = 0.001, the mean square by 0.0094.
    assert abs((inputs != 0).mean() - 0.2) < 0.004 and abs((inputs**2).mean() - 1) < 0.038
    problem = decoupled(Stream(0, 10, law="sparse"), 8)
    assert jnp.isfinite(problem.recall(problem.inputs).loss).all()
    assert [spec.law for spec in grid(problem="original", d=8, p=6, law="sparse:0.2")] == ["sparse:share=0.2"]
    with pytest.raises(ValueError, match="share is -1.0"):
        Stream(0, 40, law="sparse:-1.0")
    done = command("train", "--d", 14, "--p", 10, "--law", "sparse:share=0.9", "--json")
    assert done.returncode == 0 and '"law": "sparse:share=0.9"' in done.stdout


@pytest.mark.parametrize("count", [None, 12])
def test_a_kernel(tmp_path, monkeypatch, count):
    monkeypatch.setitem(sys.modules, "loadstone.kernels.shared_few", skeleton("A kernel", tmp_path))
    problem, memory = original(Stream(0, 9), 20), initial_memory(9, seed=1)
    if count:
        problem = padded(problem, count)
    expected = problem.slopes(memory.queries(problem.inputs))
    rows, used = table.TABLE, []
    fits = lambda case: used.append(case) or case.competitors <= 64  # noqa: E731
    monkeypatch.setattr(table, "TABLE", (table.Row("shared_pass", "shared_few", fits), *rows))
    found = problem.slopes(memory.queries(problem.inputs))
    assert len(used) == 1
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, atol=1e-5), found, expected)


def test_a_task(tmp_path, monkeypatch):
    module = skeleton("A task", tmp_path)
    monkeypatch.setitem(sys.modules, "hebbian_capacity", module)
    monkeypatch.setitem(TASKS, "hebbian capacity", "hebbian_capacity:HEBBIAN_CAPACITY")
    specs = [Spec("original", 20, 60, solver="hebbian capacity", parameters={"missing": most}) for most in (0, 3)]
    stored = []
    for spec in specs:
        (record,) = perform([spec])
        assert Spec.from_identity(record.spec) == spec and not record.result.keys() - spec.task.fields.keys()
        stored.append(record.result["stored"])
    problems = [original(Stream(0, 20), p) for p in stored]
    missing = [measure(problem, hebbian(problem)).violations for problem in problems]
    assert 1 < stored[0] < stored[1] < 60 and missing[0] == 0 and missing[1] <= 3
    assert specs[0].identity()["solver"] == "hebbian capacity"
    assert specs[1].identity()["solver"] == {"name": "hebbian capacity", "missing": 3}
    with pytest.raises(ValueError, match="must be 1 and full for the Hebbian rule"):
        Spec("original", 20, 60, kappa=0.5, solver="hebbian capacity")
