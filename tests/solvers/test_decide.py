"""Verdicts that start from L-BFGS: the same as by Newton's method alone, within limits, and honest beyond them."""

import subprocess
import sys
import time

import jax.numpy as jnp
import numpy as np
import pytest

import loadstone
from loadstone.problems.arrays import Arrays
from loadstone.problems.budget import Budget
from loadstone.problems.instance import Instance
from loadstone.problems.original import original
from loadstone.problems.separate import separate
from loadstone.proofs.certificate import check_proof, write_proof
from loadstone.solvers import decide as deciding
from loadstone.solvers.decide import ProofLimits, decide
from loadstone.solvers.lbfgs import LBFGS
from loadstone.streams.stream import Stream


@pytest.fixture
def always_lbfgs(monkeypatch):
    monkeypatch.setattr(deciding, "_WORTH_COMPILING", 1)
    monkeypatch.setattr(deciding, "_WORTH_PRODUCTS", 0)
    monkeypatch.setattr(deciding, "_WORTH_SEARCHING", 1)


#: Streams of d = 16 below and above their capacity.
@pytest.mark.parametrize("kind, p", [("original", 50), ("original", 62), ("decoupled", 40), ("decoupled", 62)])
def test_the_verdict_is_that_of_newton_alone_and_its_proof_is_accepted(kind, p, tmp_path, monkeypatch):
    arrays = Instance(Stream(3, 16), p, kind=kind).arrays()
    alone = decide(arrays)
    assert alone.passes == 0 and alone.cg_products > 0
    assert alone.verdict in repr(alone) and "\n" not in repr(alone)  # for people: no arrays
    monkeypatch.setattr(deciding, "_WORTH_COMPILING", 1)
    monkeypatch.setattr(deciding, "_WORTH_PRODUCTS", 0)
    monkeypatch.setattr(deciding, "_WORTH_SEARCHING", 1)
    found = decide(arrays)
    assert found.verdict == alone.verdict != "undecided" and found.passes > 0
    # L-BFGS has done the search: what is left for Newton's method is at most a certificate.
    assert found.newton_steps <= 1
    write_proof(tmp_path / "proof.npz", arrays, verdict=found)
    assert check_proof(tmp_path / "proof.npz").verdict == found.verdict


def test_a_witness_is_a_memory(tmp_path):
    problem = original(Stream(0, 12), 20)
    verdict = decide(problem)
    assert loadstone.measure(problem, verdict.memory).violations == 0
    loadstone.save(tmp_path / "witness.safetensors", verdict.memory)
    again = loadstone.load(tmp_path / "witness.safetensors")
    np.testing.assert_array_equal(again.weights, verdict.witness)
    assert decide(original(Stream(0, 12), 60)).memory is None


def test_a_start_is_used(always_lbfgs):
    arrays = Instance(Stream(1, 16), 50).arrays()
    found = decide(arrays)
    # The witness of a stream stores its shorter prefixes: one pass sees it.
    again = decide(Instance(Stream(1, 16), 45).arrays(), start=found.witness)
    assert again.verdict == "storable" and again.passes == 1


@pytest.mark.parametrize("d, p", [(70, 650), (40, 265)])
def test_time_is_kept_and_running_out_of_it_is_no_verdict(d, p):
    """Both sizes take longer: the larger in L-BFGS (it is compiled first), the smaller in Newton's method."""
    began = time.perf_counter()
    verdict = decide(original(Stream(0, d), p), seconds=0.005)
    assert verdict.verdict == "undecided" and "time is up" in verdict.reason
    assert verdict.witness is None and verdict.certificate is None and verdict.last is not None
    assert time.perf_counter() - began < 20  # a compilation, a pass, a step


def test_memory_is_checked_before(monkeypatch):
    """A certificate needs all scores at once. Where they do not fit, nothing is allocated and nothing is claimed."""
    arrays = Instance(Stream(3, 16), 62).arrays()
    monkeypatch.setattr(deciding, "scores_bytes", lambda n, m: 10**18)
    verdict = decide(arrays)
    assert verdict.verdict == "undecided" and verdict.newton_steps == 0 == verdict.cg_products
    needs = "a certificate needs 9.31e+08 GiB of memory, more than half of what is free."
    assert verdict.reason == f"no W was found, and {needs}"


@pytest.mark.parametrize("problem, p", [("original", 50), ("decoupled", 40)], ids=["plain", "compiled"])
def test_memory_is_checked_before_the_first_search_too(problem, p, monkeypatch, always_lbfgs):
    """It is enough, or it is not, by a byte."""
    arrays = Instance(Stream(3, 16), p, kind=problem).arrays()
    needed = LBFGS().most_bytes(arrays.inputs.size + arrays.outputs.size, 16, problem == "decoupled")
    monkeypatch.setattr(deciding, "Budget", lambda: Budget(needed - 1))
    verdict = decide(arrays)
    assert verdict.verdict == "undecided" and verdict.passes == 0 == verdict.newton_steps
    gib = f"{needed / 2**30:.3g}"
    assert verdict.reason == f"a search for W needs {gib} GiB of memory, more than half of what is free."
    monkeypatch.setattr(deciding, "Budget", lambda: Budget(needed))
    found = decide(arrays)
    assert found.verdict == "storable" and found.passes > 0


#: A fresh process that searches in the last precision, and prints by how many bytes its largest size grew.
GROWTH = """
import sys
from pathlib import Path
import jax.numpy as jnp
import numpy as np
from loadstone.problems.arrays import Arrays
from loadstone.proofs.conditioned import Conditioned
from loadstone.solvers import decide
from loadstone.solvers.lbfgs import LBFGS

d, n, m, LBFGS.precisions = *map(int, sys.argv[1:]), lambda self: ("float64",)
drawn = np.random.default_rng(0).standard_normal
arrays = Arrays(drawn((n, d), np.float32), drawn((m, d), np.float32), np.arange(n) % m)
decision = decide._Decision(Conditioned(arrays), decide.DEFAULT_LIMITS, None)
decide._MOST_PASSES = 2 if n * m * d > 10**11 else 60  # a long pass shows all, a short one is repeated
# Not getrusage, whose number is at least the size of the process that started this one.
size = lambda: 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
before = size()
decision._lbfgs()
print(size() - before)
"""


@pytest.mark.soak
@pytest.mark.parametrize("d, n, m", [(1500, 1500, 1500), (300, 20000, 20000), (1000, 1950, 2), (100, 400_000, 2)])
def test_no_search_takes_more_memory_than_is_asked_for(d, n, m):
    """A compiled program and the scores of one block take 240 to 380 MiB by themselves (nine sizes measured)."""
    arguments = [sys.executable, "-c", GROWTH, *map(str, (d, n, m))]
    grew = int(subprocess.run(arguments, capture_output=True, text=True, timeout=600, check=True).stdout)
    needed = LBFGS().most_bytes((n + m) * d, d, m > 2)
    assert needed / 3 < grew < needed + 400 * 2**20


def test_what_a_search_needs_by_hand():
    """Six times the vectors in float64, and of 20 pairs of moves and changes four copies, or one and a half."""
    assert LBFGS().most_bytes(1000, 10, True) == 6 * 8 * 1000 + 4 * 8 * 20 * 2 * 100
    assert LBFGS().most_bytes(1000, 10, False) == 6 * 8 * 1000 + (4 + 8) * 20 * 2 * 100
    assert LBFGS(pairs=3).most_bytes(0, 10, True) == 4 * 8 * 3 * 2 * 100


@pytest.mark.parametrize("p", [50, 62])
def test_without_memory_for_the_matrices_products_are_streamed(p):
    arrays = Instance(Stream(3, 16), p).arrays()
    small = decide(arrays, ProofLimits(budget=Budget(1000)))
    assert small.verdict == decide(arrays).verdict and small.dense_solves == 0


@pytest.mark.parametrize("bad", [0, -1, float("nan"), "soon"])
def test_bad_seconds(bad):
    with pytest.raises(ValueError, match="seconds is .* but must be"):
        decide(original(Stream(0, 4), 3), seconds=bad)


def test_separate_outputs_are_a_problem():
    """The pass over given arrays of a decoupled instance against plain formulas, and its way back to the arrays."""
    arrays = Instance(Stream(2, 6), 9, kind="decoupled").arrays()
    problem = separate(arrays)
    weights = np.random.default_rng(0).standard_normal((6, 6)).astype(np.float32)
    scores = np.einsum("nmi,ij,nj->nm", arrays.outputs, weights, arrays.inputs)
    recall = problem.recall(problem.inputs @ weights.T)
    np.testing.assert_allclose(recall.target, scores[np.arange(9), np.arange(9)], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(problem.scores(problem.inputs @ weights.T, jnp.arange(9)), scores, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(problem.target_outputs, arrays.target_outputs)
    back = problem.arrays()
    for name in ("inputs", "outputs", "targets"):
        np.testing.assert_array_equal(getattr(back, name), getattr(arrays, name))
    solution = loadstone.train(problem)
    assert solution.status == "stored" and loadstone.measure(problem, solution.memory).violations == 0


def test_where_a_search_is_compiled_before_newtons_method():
    """From d = 60 and ten million products a pass on, unless it needs no compilation."""
    assert deciding.is_worth_compiling(100, 1667, 60) and not deciding.is_worth_compiling(100, 1666, 60)
    assert not deciding.is_worth_compiling(10**4, 10**4, 59) and deciding.is_worth_compiling(1000, 100, 100)
    # With shared outputs a search of so few facts is done in NumPy.
    shared, separate_ones = np.ones((1667, 60), np.float32), np.ones((10, 16_667, 60), np.float32)
    assert not deciding.is_compiled(Arrays(shared[:100], shared, np.arange(100)))
    assert deciding.is_compiled(Arrays(shared[:10], separate_ones, np.arange(10)))
    assert not deciding.is_compiled(Arrays(shared[:10], separate_ones[:, :-1], np.arange(10)))


@pytest.mark.parametrize("decoupled", [False, True])
def test_a_start_has_moderate_scores(decoupled):
    """Their root mean square is 3 at most, judged by 64 of the inputs at equal distances."""
    random, n = np.random.default_rng(0), 190
    inputs, outputs = random.standard_normal((n, 5)), random.standard_normal((n, 7, 5) if decoupled else (7, 5))
    arrays, rows = Arrays(inputs, outputs, np.zeros(n, int)), np.arange(0, n, 3)
    weights = random.standard_normal((5, 5))
    inputs[np.setdiff1d(np.arange(n), rows)] *= 1e6
    own = outputs[rows] if decoupled else np.broadcast_to(outputs, (64, 7, 5))
    size = np.sqrt((np.einsum("nmi,ij,nj->nm", own, weights, inputs[rows]) ** 2).mean())
    for factor in (100.0, 2.0):
        np.testing.assert_allclose(deciding._moderate(factor * weights, arrays), weights * 3 / size, rtol=1e-12)
    small = weights / size
    np.testing.assert_array_equal(deciding._moderate(small, arrays), small)
    np.testing.assert_array_equal(deciding._moderate(0 * weights, arrays), 0 * weights)
