"""How searches go that are not compiled, and what proofs give away for rounding, for a few small instances.

    python -m tests.solvers.searches      # after a deliberate change: rewrite searches.json, and read its diff

A search that takes twice as many steps, or a bound that is looser than it need be, is right all the same, and no other
test notices it. Numbers of steps depend on the last digits, so they are compared on the kind of processor that the file
names, as in `tests/kept.py`.
"""

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from unittest import mock

import jax.numpy as jnp
import numpy as np

from loadstone.memories.families import subspace_of
from loadstone.memories.full import Full
from loadstone.memories.projected import Projected
from loadstone.memories.subspaces.patterned import Symmetric
from loadstone.problems.arrays import Arrays
from loadstone.problems.budget import Budget
from loadstone.problems.facts import Facts, facts_of
from loadstone.proofs.rounding import least_margin, margin_bound, tolerance
from loadstone.proofs.streamed import streamed_bound
from loadstone.solvers import lbfgs_numpy, newton
from loadstone.solvers.conflict import conflict_in
from loadstone.solvers.decide import ProofLimits, decide
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.margin import maximum_margin
from loadstone.solvers.refitting import refit
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits
from loadstone.solvers.updates import all_at_once, one_at_a_time
from loadstone.solvers.weighted import store_most
from tests.kept import REWRITE, brief

KEPT = Path(__file__).with_name("searches.json")


def drawn(n: int, m: int, d: int, decoupled: bool = False, seed: int = 0) -> Arrays:
    random = np.random.default_rng((seed, n, m, d))
    outputs = random.standard_normal((n, m, d) if decoupled else (m, d))
    return Arrays(random.standard_normal((n, d)), outputs, random.integers(0, m, n))


#: Storable, close to capacity, not storable; shared outputs and separate ones.
INSTANCES = {
    "7 facts": drawn(7, 7, 5), "12 of 5 answers": drawn(12, 5, 5), "30 of 5 answers": drawn(30, 5, 5),
    "9 facts, decoupled": drawn(9, 9, 5, True), "30 facts, decoupled": drawn(30, 8, 5, True),
}  # fmt: skip


def verdicts() -> dict[str, object]:
    found: dict[str, object] = {}
    for name, instance in INSTANCES.items():
        for family in ("full", "symmetric"):
            one = decide(instance, family=family)
            steps = [one.newton_steps, one.cg_products, one.dense_solves, one.passes]
            found[f"{name}, {family}"] = brief([str(one.verdict), steps, one.margin, one.share])
    return found


def close() -> dict[str, object]:
    """Verdicts on both sides of the capacity, step by step: with dense solves, without memory for them, from a start,
    and in the smallest dimension in which L-BFGS comes first."""
    near, few = drawn(32, 32, 10, seed=2), ProofLimits(budget=Budget(1000))
    cases = {
        "storable": (near, {}), "without memory": (near, {"limits": few}),
        "from a start": (near, {"start": 100 * np.ones((10, 10)) + 50 * np.eye(10)}),
        "not storable": (drawn(36, 36, 10, seed=2), {}),
        "traceless": (drawn(20, 20, 10, seed=2), {"family": "traceless"}),
        "symmetric, d = 30": (drawn(50, 50, 30), {"family": "symmetric"}),
        "d = 29": (drawn(90, 90, 29), {}), "d = 30": (drawn(90, 90, 30), {}), "few answers": (drawn(130, 10, 30), {}),
    }  # fmt: skip
    found = {}
    for name, (instance, given) in cases.items():
        told: list[tuple[int, float, float]] = []
        tell = lambda step, numbers: told.append((step, *numbers))  # noqa: B023, E731
        # The numbers themselves, which the words round.
        with (
            mock.patch.object(newton, "in_words", lambda loss, margin: (loss, margin)),
            mock.patch.object(lbfgs_numpy, "in_words", lambda loss, accuracy: (loss, np.nan)),
        ):
            one = decide(instance, progress=tell, **given)
        steps = [one.newton_steps, one.cg_products, one.dense_solves, one.passes]
        found[name] = brief([str(one.verdict), steps, one.margin, one.bound, one.share, *map(list, zip(*told))])
    return found


def skewed(n: int, m: int, seed: int = 1) -> Arrays:
    """Facts in d = 6 that extend less and less from one direction to the next, with outputs away from zero."""
    one, falling = drawn(n, m, 6, seed=seed), 1 / np.arange(1, 7)
    return Arrays(one.inputs * falling, one.outputs * falling + 1, one.targets)


def stored() -> dict[str, object]:
    """L-BFGS in NumPy, pass by pass, to each of its ends."""
    few, many = facts_of(skewed(14, 14)), facts_of(skewed(40, 9))
    zero, symmetric = Full(jnp.zeros((6, 6))), Projected.made(jnp.zeros((6, 6)), Symmetric())
    large = Full(jnp.asarray(50 * np.random.default_rng(0).standard_normal((6, 6)), jnp.float32))
    precise, raw = {"solver": LBFGS(tolerance=1e-12)}, {"solver": LBFGS(whiten=False)}
    small = facts_of(Arrays(few.inputs / 100, few.outputs, few.targets))
    cases = {
        "few": (few, zero, {}), "many": (many, zero, {}), "from large scores": (few, large, {}),
        "symmetric": (facts_of(skewed(9, 9)), symmetric, {}), "too many, symmetric": (many, symmetric, {}),
        "shares": (many.weighted(np.linspace(0.1, 1, 40)), zero, {}), "none": (few, zero, {"stop": "none"}),
        "short steps": (small, zero, raw),
        "99%": (few, zero, {"stop": "99%"}), "few pairs": (few, zero, {"solver": LBFGS(pairs=3, whiten=False)}),
        "float32": (many, zero, precise | {"precision": "float32"}), "float64 at last": (many, zero, precise),
    }  # fmt: skip
    found = {}
    for name, (problem, start, given) in cases.items():
        one = solve(problem, start, limits=Limits(200), **given)
        sizes = np.linalg.svd(np.asarray(one.memory.matrix(), np.float64), compute_uv=False).tolist()
        trace = [one.loss.tolist(), one.accuracy.tolist(), sizes]
        found[name] = brief([str(one.status), one.passes, one.steps, one.problem, *trace])
    return found


def most() -> dict[str, object]:
    """As many facts as possible, round by round: of all of them, or of the most promising if time is short."""
    cases = {"all": (200, 200, 1e4), "few answers": (200, 40, 1e4), "half": (400, 400, 10), "a few": (400, 400, 1)}
    found: dict[str, object] = {}
    for name, (n, m, passes) in cases.items():
        told: list[tuple[int, int]] = []
        tell = lambda stored, words: told.append((int(words.split()[2]), stored))  # noqa: B023, E731
        start, seconds = Full(jnp.zeros((6, 6))), 1e6 * passes  # far more than is taken
        memory = store_most(facts_of(skewed(n, m)), start, seconds, tell, pass_seconds=1e6)
        sizes = np.linalg.svd(np.asarray(memory.matrix(), np.float64), compute_uv=False)
        found[name] = [*map(list, zip(*told)), brief((sizes / sizes[0]).tolist())]
    return found


def margins() -> dict[str, object]:
    found = {}
    for name, instance in INSTANCES.items():
        if not name.startswith("30"):
            one = maximum_margin(instance)
            found[name] = brief([one.margin, one.passes, np.linalg.svd(one.memory.matrix(), compute_uv=False).tolist()])
    return found


def changes() -> dict[str, object]:
    """Refits, updates and conflicts of the instance that is not storable."""
    facts = INSTANCES["30 of 5 answers"]
    refitted = refit(facts, range(30), np.zeros((5, 5)))
    conflict = conflict_in(facts)
    return {
        "refit": [list(refitted.kept), list(refitted.impossible), list(refitted.undecided)],
        "conflict": [list(conflict.facts), conflict.minimal],
        "one at a time": brief(one_at_a_time(refitted.weights, facts, [3, 20, 29], 0.5).ravel().tolist()),
        "all at once": brief(all_at_once(refitted.weights, facts, [3, 20, 29], 0.5).ravel().tolist()),
    }


def given_away() -> dict[str, list[float]]:
    """Of a witness: by how much the proved margin lies below the exact one, over the unit of rounding times the largest
    that a margin can be. Of a certificate: its bound, over what counts as zero."""
    found = {}
    for name, instance in INSTANCES.items():
        for family in ("full", "symmetric"):
            verdict, subspace = decide(instance, family=family), subspace_of(family, 5)
            if verdict.witness is not None:
                exact, largest = _least(instance, verdict.witness)
                bound = least_margin(instance, verdict.witness, subspace)
                away = float((exact - Fraction(bound.margin)) * 2**53 / largest)
            else:
                away = margin_bound(instance, verdict.certificate, subspace).share / tolerance(instance)
            found[f"{name}, {family}"] = [away]
    facts = INSTANCES["7 facts"]
    single = Facts(*(jnp.asarray(part, jnp.float32) for part in (facts.inputs, facts.outputs)),
                   jnp.asarray(facts.targets, jnp.int32), 4)  # fmt: skip
    streamed = streamed_bound(single, decide(facts).witness)
    found["streamed"] = [(streamed.margin - streamed.bound) * 2**24, streamed.unproved, streamed.in_float64]
    return found


def _least(instance: Arrays, weights: np.ndarray) -> tuple[Fraction, float]:
    """The least margin over |W|, in exact arithmetic but for the root, and the largest that one can be."""
    exact = np.vectorize(Fraction, otypes=[object])
    inputs, outputs, matrix = exact(instance.inputs), exact(instance.outputs), exact(weights)
    norm = Fraction(float(np.linalg.norm(weights)))
    least, largest = None, 0.0
    for row, target in enumerate(instance.targets):
        own = outputs[row] if instance.decoupled else outputs
        scores = own @ (matrix @ inputs[row])
        least = min([one for one in [least] if one is not None]
                    + [scores[target] - score for place, score in enumerate(scores) if place != target])  # fmt: skip
        lengths = np.linalg.norm(own.astype(float) - own[target].astype(float), axis=1)
        largest = max(largest, float(lengths.max() * np.linalg.norm(instance.inputs[row])))
    return least / norm, largest


if __name__ == "__main__":
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/solvers/test_searches.py"]
    sys.exit(subprocess.call(command, env=os.environ | {REWRITE: "yes"}))
