"""Verdicts that start from L-BFGS: the same as by Newton's method alone, within limits, and honest beyond them."""

import re
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
from loadstone.solvers import decide as deciding_module
from loadstone.solvers.decide import ProofLimits, decide
from loadstone.solvers.lbfgs import LBFGS
from loadstone.streams.stream import Stream


def deciding(n, d=30, family="full", decoupled=False, **more):
    """A verdict on facts that are drawn; from d = 30 on, or 60 with separate outputs, it begins with L-BFGS."""
    random = np.random.default_rng(n)
    outputs = random.standard_normal((n, 450, d) if decoupled else (n, d))
    arrays = Arrays(random.standard_normal((n, d)), outputs, np.arange(n) % 450 if decoupled else np.arange(n))
    return decide(arrays, family=family, **more), arrays


@pytest.mark.parametrize("given, expected", [
    ({"n": 120}, "storable"), ({"n": 190}, "not storable"), ({"n": 50, "family": "symmetric"}, "storable"),
    pytest.param({"n": 450, "d": 60, "decoupled": True}, "storable", marks=pytest.mark.soak),
])  # fmt: skip
def test_a_verdict_that_begins_with_lbfgs_is_proved(given, expected, tmp_path):
    """Of the search for W only a certificate is left for Newton's method."""
    verdict, arrays = deciding(**given)
    assert verdict.verdict == expected and verdict.passes > 0 and verdict.newton_steps <= 1
    assert expected in repr(verdict) and "\n" not in repr(verdict)  # for people: no arrays
    write_proof(tmp_path / "proof.npz", arrays, verdict=verdict)
    assert check_proof(tmp_path / "proof.npz").verdict == expected
    if verdict.family is not None:
        assert verdict.family.contains(verdict.witness)


def test_the_first_search_needs_more_dimensions_or_more_products():
    """Below them Newton's method alone is faster; it decides with few steps, also near the capacity."""
    for n, expected in ((26, "storable"), (40, "not storable")):
        verdict, _ = deciding(n, d=10)
        assert verdict.verdict == expected and verdict.passes == 0 < verdict.cg_products and verdict.newton_steps < 15
    few, _ = deciding(20, d=60, decoupled=True)
    assert few.verdict == "storable" and few.passes == 0


def test_a_witness_is_a_memory(tmp_path):
    problem = original(Stream(0, 12), 20)
    verdict = decide(problem)
    assert loadstone.measure(problem, verdict.memory).violations == 0
    loadstone.save(tmp_path / "witness.safetensors", verdict.memory)
    again = loadstone.load(tmp_path / "witness.safetensors")
    np.testing.assert_array_equal(again.weights, verdict.witness)
    assert decide(original(Stream(0, 12), 60)).memory is None


def test_what_all_outputs_have_in_common_changes_no_verdict():
    random = np.random.default_rng(0)
    inputs, outputs = random.standard_normal((2, 5, 4))
    assert decide(Arrays(inputs, outputs + 1e9, np.arange(5))).verdict == "storable"
    inputs, outputs = random.standard_normal((2, 14, 4)).astype(np.float32).astype(float)  # a sum with 4096 is exact
    for shift in (0.0, 64.0, 4096.0):
        assert decide(Arrays(inputs, outputs + shift, np.arange(14))).verdict == "not storable"


def test_a_start_is_used():
    # The witness of a stream stores its shorter prefixes: one pass sees it.
    start = decide(Instance(Stream(1, 30), 140).arrays()).witness
    again = decide(Instance(Stream(1, 30), 120).arrays(), start=start)
    assert again.verdict == "storable" and again.passes == 1


@pytest.mark.parametrize("d, p", [(70, 650), (40, 265)])
def test_time_is_kept_and_running_out_of_it_is_no_verdict(d, p):
    """Both sizes take longer: the larger in L-BFGS (it is compiled first), the smaller in Newton's method."""
    began = time.perf_counter()
    verdict = decide(original(Stream(0, d), p), seconds=0.005)
    assert verdict.verdict == "undecided" and "time is up" in verdict.reason
    assert verdict.witness is None and verdict.certificate is None and verdict.last is not None
    assert time.perf_counter() - began < 20  # a compilation, a pass, a step


@pytest.mark.parametrize("what, d, there", [
    ("a search for W", 30, 5 * 10**5), ("no W was found, and a certificate", 20, 2 * 10**6),
])  # fmt: skip
def test_memory_is_checked_before(what, d, there, monkeypatch):
    """Where it does not suffice, nothing is allocated and nothing is claimed."""
    monkeypatch.setattr(deciding_module, "Budget", lambda: Budget(there))
    verdict, _ = deciding(190, d)
    assert verdict.verdict == "undecided" and verdict.passes == 0 == verdict.newton_steps
    assert re.fullmatch(f"{what} needs .* GiB of memory, more than half of what is free.", verdict.reason)


#: A fresh process that searches in the last precision, and prints by how many bytes its largest size grew.
GROWTH = """
import sys
from pathlib import Path
import jax.numpy as jnp
import numpy as np
from loadstone.problems.arrays import Arrays
from loadstone.progress import silent
from loadstone.proofs.conditioned import Conditioned
from loadstone.solvers import decide
from loadstone.solvers.lbfgs import LBFGS

d, n, m, LBFGS.precisions = *map(int, sys.argv[1:]), lambda self: ("float64",)
drawn = np.random.default_rng(0).standard_normal
arrays = Arrays(drawn((n, d), np.float32), drawn((m, d), np.float32), np.arange(n) % m)
decision = decide._Decision(Conditioned(arrays), decide.DEFAULT_LIMITS, silent)
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


@pytest.mark.parametrize("p", [40, 50, 62, 90])
def test_without_memory_for_the_matrices_products_are_streamed(p):
    arrays = Instance(Stream(3, 16), p).arrays()
    small = decide(arrays, ProofLimits(budget=Budget(1000)))
    assert small.verdict == decide(arrays).verdict and small.dense_solves == 0


@pytest.mark.parametrize("bad", [0, float("nan"), "soon"])
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
        np.testing.assert_allclose(deciding_module._moderate(factor * weights, arrays), weights * 3 / size, rtol=1e-12)
    small = weights / size
    np.testing.assert_array_equal(deciding_module._moderate(small, arrays), small)
    np.testing.assert_array_equal(deciding_module._moderate(0 * weights, arrays), 0 * weights)
