"""The skeletons of docs/extending.md, taken from the page as they stand, do what the page says."""

import importlib.util
import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.measurements.accuracy import measure
from loadstone.memories.families import FAMILIES, initial_memory
from loadstone.memories.files import load_memory, save_memory
from loadstone.memories.subspaces.registry import SUBSPACES
from loadstone.problems.decoupled import decoupled
from loadstone.problems.instance import Instance
from loadstone.problems.original import original
from loadstone.proofs.certificate import check_proof, write_proof
from loadstone.runs.grid import grid
from loadstone.runs.result import perform
from loadstone.runs.spec import Spec
from loadstone.solvers.decide import decide
from loadstone.solvers.registry import SOLVERS
from loadstone.solvers.solve import solve, solve_batch
from loadstone.streams.laws.registry import LAWS
from loadstone.streams.stream import Stream

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


@pytest.fixture
def persymmetric(tmp_path, monkeypatch):
    monkeypatch.setitem(FAMILIES, "persymmetric", skeleton("A memory", tmp_path).Persymmetric)


def test_a_memory(persymmetric, tmp_path, command):
    problem = original(Stream(0, 14), 16)
    solution = solve(problem, initial_memory(14, seed=1, family="persymmetric"), stop="exact")
    weights = np.asarray(solution.memory.matrix())
    assert (weights == weights.T[::-1, ::-1]).all() and measure(problem, solution.memory).violations == 0
    save_memory(tmp_path / "persymmetric.safetensors", solution.memory)
    loaded = load_memory(tmp_path / "persymmetric.safetensors")
    assert type(loaded) is type(solution.memory) and (np.asarray(loaded.half) == solution.memory.half).all()
    together = solve_batch([problem, problem], [initial_memory(14, seed=s, family="persymmetric") for s in (1, 2)])
    assert len(together) == 2 and all(one.accuracy[-1] == 1 for one in together)

    spec = Spec("original", 14, 16, family="persymmetric")
    (record,) = perform([spec])
    assert record.spec["family"] == "persymmetric" and record.result["accuracy"] == 1
    assert Spec.from_identity(record.spec) == spec != Spec("original", 14, 16)
    with pytest.raises(ValueError, match="kappa is 0.5, but must be 1 for the family 'persymmetric'"):
        Spec("original", 14, 16, kappa=0.5, family="persymmetric")
    done = command("train", "--d", 14, "--p", 16, "--family", "persymmetric", "--json")
    assert done.returncode == 0 and '"family": "persymmetric"' in done.stdout


def test_a_linear_family(tmp_path, monkeypatch):
    kind = skeleton("A linear family", tmp_path).Toeplitz
    monkeypatch.setitem(SUBSPACES, "toeplitz", kind)
    for p, verdict in ((4, "storable"), (9, "not storable")):
        arrays = Instance(Stream(0, 6), p).arrays()
        found = decide(arrays, family="toeplitz")
        assert found.verdict == verdict
        write_proof(tmp_path / "proof.npz", arrays, found)
        checked = check_proof(tmp_path / "proof.npz")
        assert checked.valid and checked.verdict == verdict and checked.family == "toeplitz"
    problem = original(Stream(0, 6), 4)
    solution = solve(problem, initial_memory(6, family="toeplitz"))
    save_memory(tmp_path / "toeplitz.safetensors", solution.memory)
    weights = np.asarray(load_memory(tmp_path / "toeplitz.safetensors").matrix())
    assert solution.status == "stored" and (weights[1:, 1:] == weights[:-1, :-1]).all()


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
    stream = Stream(0, 40, "sparse:0.2")
    assert stream == Stream(0, 40, "sparse:share=0.2") and stream.law == "sparse:share=0.2"
    inputs = np.asarray(stream.inputs(4000), np.float64)
    # 160 000 components: the share scatters by sqrt(0.2 * 0.8 / 160000) = 0.001, the mean square by 0.0094.
    assert abs((inputs != 0).mean() - 0.2) < 0.004 and abs((inputs**2).mean() - 1) < 0.038
    problem = decoupled(Stream(0, 10, "sparse"), 8)
    assert jnp.isfinite(problem.recall(problem.inputs).loss).all()
    assert [spec.law for spec in grid(problem="original", d=8, p=6, law="sparse:0.2")] == ["sparse:share=0.2"]
    with pytest.raises(ValueError, match="share is -1.0"):
        Stream(0, 40, "sparse:-1.0")
    done = command("train", "--d", 14, "--p", 10, "--law", "sparse:share=0.9", "--json")
    assert done.returncode == 0 and '"law": "sparse:share=0.9"' in done.stdout
