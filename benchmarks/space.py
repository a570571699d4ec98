"""Both samplers of the space of solutions on the same instances: effective samples a second and a pass.

`python benchmarks/space.py` takes a minute and writes space.json beside this file. `python benchmarks/space.py --large`
adds d = 100 at half the capacity: whether two chains mix in ten minutes on two cores, compilation included. On Linux,
`taskset -c 0,1 python benchmarks/space.py --large` gives it two cores of a larger machine.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import jax
import jax.numpy as jnp

from loadstone.problems.decoupled import decoupled
from loadstone.problems.original import original
from loadstone.space.chains import run_chains
from loadstone.space.overlap import overlap
from loadstone.space.starts import in_digits, starting_points
from loadstone.streams.stream import Stream

#: Steps of each of four chains, for each method.
STEPS = {"reflections": 320, "slices": 40_000}
CASES = [(16, 15), (16, 25), (16, 35)]
#: d, and p at half the capacity; steps of each of two chains, of which a quarter is the warm-up.
LARGE, LARGE_STEPS = (100, 596), 120


def measured(problem, chains: int, steps: int, method: str, compiled: bool = True) -> dict[str, object]:
    """One run; if `compiled`, the second of two, so without compilation and without the search for its starts."""
    began = time.perf_counter()
    starts = in_digits(starting_points(problem, chains, 0, None), None, jnp.float32)
    if compiled:
        run_chains(problem, starts, 2, 0, method=method)
        began = time.perf_counter()
    found = run_chains(problem, starts, steps, 1, method=method)
    seconds = time.perf_counter() - began
    n, d = problem.inputs.shape
    q = overlap(found.means.reshape(*found.means.shape[:2], -1))
    pairs = n * (problem.competitors - 1)
    return {
        "d": d, "p": n, "method": method, "chains": chains, "steps": found.steps, "passes": found.passes,
        "seconds": seconds, "r_hat": found.mixing.r_hat, "effective_samples": found.mixing.effective_samples,
        "effective_samples_a_second": found.mixing.effective_samples / seconds,
        "effective_samples_in_1000_passes": 1000 * found.mixing.effective_samples / found.passes,
        "overlap": q.value, "overlap_error": q.error,
        "microseconds_a_pass": 1e6 * seconds / found.passes,
        "seconds_for_a_million_constraint_steps": 1e6 * seconds / (found.passes * pairs),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="d = 100 at half the capacity")
    parser.add_argument("--steps", type=int, default=LARGE_STEPS, help="steps of each chain for --large")
    parser.add_argument("--out", default=str(Path(__file__).with_suffix(".json")))
    given = parser.parse_args()
    out = Path(given.out)
    found = json.loads(out.read_text()) if out.exists() else {}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = {"device": jax.devices()[0].device_kind, "cores": cores}
    if given.large:
        d, p = LARGE
        found["large"] = machine | measured(original(Stream(0, d), p), 2, given.steps, "reflections", False)
    else:
        found |= machine | {"rows": [
            measured(decoupled(Stream(0, d), p), 4, steps, method) for d, p in CASES for method, steps in STEPS.items()
        ]}  # fmt: skip
    out.write_text(json.dumps(found, indent=1) + "\n")
    for row in [found["large"]] if given.large else found["rows"]:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
