"""What is planned before anything is computed, for a few sizes: memory, work, seconds, batches, padding and jobs.

    python -m tests.planned      # after a deliberate change: rewrite planned.json, and read its diff

Such a number decides how a result is reached, hardly ever which one, so that a wrong one shows only as a run that takes
too long or too much memory.
"""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from loadstone.memories.families import subspace_of
from loadstone.problems.arrays import Arrays
from loadstone.problems.decoupled import decoupled_bytes
from loadstone.problems.facts import block_rows
from loadstone.problems.original import original_bytes
from loadstone.problems.spread_streams import ring_bytes
from loadstone.proofs.conditioned import Conditioned
from loadstone.runs import plan
from loadstone.runs.spec import Spec
from loadstone.solvers.hessian import dense_bytes, matrices_bytes, scores_bytes
from loadstone.solvers.newton import NewtonSearch
from loadstone.solvers.restricted import restricted_bytes, restricted_work
from loadstone.tasks import batches

KEPT = Path(__file__).with_name("planned.json")
KINDS = ("original", "decoupled")
SIZES = [(10, 20), (60, 500), (150, 2064), (300, 7104), (512, 16_384), (513, 16_385)]
PLATFORMS = ("cpu", "gpu")
#: One run of each kind, at two sizes.
RUNS = [
    *(Spec(kind, d, p, solver=solver) for kind in KINDS for d, p in SIZES[:2]
      for solver in ("adam", "lbfgs", "hebbian", "capacity", "margin", "reach", "approach", "space", "bits")),
    Spec("original", 60, 500, solver="edits"),
    Spec("groups:2", 10, 20), Spec("original", 10, 20, answers=5), Spec("decoupled", 60, 500, hold="regenerated"),
    Spec("original", 10, 20, solver="bits", parameters={"way": "centre"}),
    Spec("original", 10, 20, solver="edits", parameters={"method": "refit"}),
    Spec("original", 10, 20, solver="space", parameters={"volume": False}),
    Spec("decoupled", 10, 40, solver="space", parameters={"chains": 8}),
    Spec("original", 10, 20, kappa=0.5, solver="reach", parameters={"starts": 3}),
]  # fmt: skip
#: Functions of sizes alone, and where each is asked.
OF_SIZES: dict[Callable, list[tuple]] = {
    batches.padded_rows: [(kind, p, d, where) for kind in KINDS for d, p in SIZES for where in PLATFORMS],
    batches.padded_rows_of_few_passes: [(kind, p) for kind in KINDS for p in (20, 128, 129, 512, 513)],
    batches.batch_size: [(kind, p, d, "auto", "gpu") for kind in KINDS for d, p in [*SIZES, (150, 3000), (150, 3001)]],
    block_rows: [(3, 5), (200, 10**5), (10**6, 10**5), (10**6, 10**7)],
    decoupled_bytes: [(20, 10), (20, 10, "float32"), (20, 10, "float16")],
    original_bytes: [(20, 10), (20, 10, 8, 5)],
    ring_bytes: [(20, 10, 8, 5)],
    dense_bytes: [(20, 10, np), (20, 10, jnp)],
    matrices_bytes: [(20, 30, 10)],
    scores_bytes: [(20, 30)],
    restricted_bytes: [(20, 10, k, np) for k in (4, 22, 23, 90)],
    restricted_work: [(20, 10, k) for k in (4, 22, 23, 90)],
}


def planned() -> dict[str, object]:
    found: dict[str, object] = {}
    for function, asked in OF_SIZES.items():
        for given in asked:
            words = ", ".join(getattr(one, "__name__", str(one)) for one in given)
            found[f"{function.__module__}.{function.__name__}({words})"] = _short(function(*given))
    for spec, where in itertools.product(RUNS, PLATFORMS):
        batch = plan.batch_size(spec, where)
        run = f"{spec} {dict(spec.parameters)} on {where}"
        found[run] = [_short(plan.cost(spec, where)), plan.program(spec, where).p, batch]
    for where in PLATFORMS:
        costs = plan.expected_costs(RUNS, where)
        found[f"all on {where}"] = [_short(costs[spec.key]) for spec in RUNS]
    random = np.random.default_rng(0)
    for n, d, family in ((50, 40, "full"), (50, 40, "symmetric"), (6, 3, "full")):
        facts = Arrays(random.standard_normal((n, d)), random.standard_normal((n, d)), np.arange(n))
        search = NewtonSearch(Conditioned(facts, subspace_of(family, d)), np, np.zeros((d, d)))
        found[f"Newton's method, {n} facts, d = {d}, {family}"] = [_short(search.work), search.most_products]
    seeds = [Spec("original", d, p, seed) for d, p in SIZES[:3] for seed in range(140)]
    found["jobs"] = {str(workers): _lengths(plan.jobs(seeds, workers)) for workers in (1, 3, 50)}
    return json.loads(json.dumps(found))


def _lengths(jobs: list[list[Spec]]) -> list[list[int]]:
    """How many jobs in a row have as many runs."""
    return [[runs, len(list(alike))] for runs, alike in itertools.groupby(jobs, len)]


def _short(value: float | int | None) -> float | int | None:
    return value if value is None or isinstance(value, int) else float(f"{value:.10g}")


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in planned().items()]
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n")
