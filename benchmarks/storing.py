"""How many passes and seconds L-BFGS takes to store facts near the capacity; on a CPU beside PyTorch's L-BFGS.

    python benchmarks/storing.py [--case NAME ...] [--out FILE]

Each case is solved twice in one process, and the second time counts: the first also compiles. A case on an accelerator
is one stream. On a CPU it is several; with `--torch` the same facts, raw and whitened, are given to us and to
torch.optim.LBFGS (strong Wolfe, 20 pairs) in float32, and passes are calls of its closure.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import jax
import numpy as np

from loadstone.measurements.accuracy import measure
from loadstone.problems.facts import Facts, facts
from loadstone.problems.original import original
from loadstone.problems.problem import Problem
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits
from loadstone.streams.stream import Stream
from loadstone.theory.load import nearest_associations

#: Dimension, associations, streams.
CASES = {
    "d500": (500, nearest_associations(0.76, 500), 1),
    "d1024": (1024, nearest_associations(0.74, 1024), 1),
    "d2048": (2048, nearest_associations(0.70, 2048), 1),
    "d100": (100, 1170, 10),
}
MOST_PASSES = 1000


def ours(problem: Problem) -> dict[str, object]:
    for _ in range(2):
        began = time.perf_counter()
        solution = solve(problem, limits=Limits(MOST_PASSES))
        seconds = time.perf_counter() - began
    violations = measure(problem, solution.memory).violations
    return {"status": solution.status.value, "passes": solution.passes, "violations": violations, "seconds": seconds}


def theirs(problem: Facts) -> dict[str, object]:
    """The same loss by torch.optim.LBFGS, from the same start, until every margin is positive."""
    import torch

    inputs, outputs = (torch.from_numpy(np.array(part)) for part in (problem.inputs, problem.outputs))
    targets = torch.from_numpy(np.array(problem.targets, np.int64))
    weights = torch.zeros(inputs.shape[1], inputs.shape[1], requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [weights], lr=1, max_iter=MOST_PASSES, max_eval=MOST_PASSES, history_size=20, line_search_fn="strong_wolfe",
        tolerance_grad=0, tolerance_change=0,
    )  # fmt: skip
    passes, stored = 0, False

    class StoredError(Exception):
        pass

    def closure() -> torch.Tensor:
        nonlocal passes, stored
        passes += 1
        optimiser.zero_grad()
        scores = inputs @ weights.T @ outputs.T
        loss = torch.nn.functional.cross_entropy(scores, targets)
        if bool((scores.argmax(dim=1) == targets).all()):
            stored = True
            raise StoredError
        loss.backward()
        return loss

    began = time.perf_counter()
    try:
        optimiser.step(closure)
    except StoredError:
        pass
    return {"stored": stored, "passes": passes, "seconds": time.perf_counter() - began}


def white(problem: Facts) -> Facts:
    from loadstone.memories.families import initial_memory
    from loadstone.solvers.coordinates import whiten

    return whiten(problem, initial_memory(problem.inputs.shape[1])).problem  # type: ignore[return-value]


def measured(name: str, with_torch: bool) -> dict[str, object]:
    d, p, streams = CASES[name]
    rows = []
    for seed in range(streams):
        problem = original(Stream(seed, d), p)
        row = {"seed": seed} | ours(problem)
        if with_torch:
            raw = facts(np.asarray(problem.inputs), np.asarray(problem.outputs))
            for kind, given in (("raw", raw), ("whitened", white(raw))):
                row[kind] = {"ours": ours(given), "torch": theirs(given)}
        rows.append(row)
    middle = {key: statistics.median(row[key] for row in rows) for key in ("passes", "seconds", "violations")}
    for kind in ("raw", "whitened") if with_torch else ():
        for side in ("ours", "torch"):
            for key in ("passes", "seconds"):
                middle[f"{kind} facts, {side}: {key}"] = statistics.median(row[kind][side][key] for row in rows)
        ratios = [row[kind]["torch"]["seconds"] / row[kind]["ours"]["seconds"] for row in rows]
        middle[f"{kind} facts, ratio of seconds"] = statistics.median(ratios)
    return {"case": name, "d": d, "p": p, "device": jax.devices()[0].device_kind, "median": middle, "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    on_cpu = jax.default_backend() == "cpu"
    parser.add_argument("--case", choices=CASES, nargs="+", default=["d100"] if on_cpu else ["d500", "d1024", "d2048"])
    parser.add_argument("--torch", action="store_true", help="beside torch.optim.LBFGS")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    results = []
    for name in arguments.case:
        results.append(measured(name, arguments.torch))
        print(json.dumps({key: value for key, value in results[-1].items() if key != "rows"}), flush=True)
        if arguments.out:
            with open(arguments.out, "w") as file:
                json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
