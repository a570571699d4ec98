"""Do the original and the decoupled problem share one threshold? Exact capacities of many streams, for growing d.

    JAX_PLATFORMS=cpu OPENBLAS_NUM_THREADS=1 python benchmarks/threshold_shift.py --sizes 12:200 20:100 --processes 2

A size is d:streams. The mean capacity of decoupled streams is known from the kinematic formula; measuring it too tests
that formula. Every verdict behind a capacity is proved.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

import numpy as np

from loadstone.theory.capacity import capacity_associations
from loadstone.theory.storable import probability_storable

KINDS = ("original", "decoupled")


def capacity(task: tuple[int, int, str]) -> tuple[int, str, int | None]:
    from loadstone.problems.instance import Instance
    from loadstone.streams.stream import Stream
    from loadstone.tasks.capacity import exact_capacity

    d, seed, kind = task
    around = round(float(capacity_associations(d)))
    return d, kind, exact_capacity(Instance(Stream(seed, d), around, kind=kind)).p_c


def expected_capacity(d: int) -> float:
    """Mean capacity of a decoupled stream: the sum over p of P(capacity >= p)."""
    p = np.arange(2, int(2 * float(capacity_associations(d))) + 20)
    return 1 + float(probability_storable(p, d).sum())


def summary(d: int, kind: str, found: list[int | None]) -> dict[str, object]:
    decided = np.array([p for p in found if p is not None], float)
    expected, error = expected_capacity(d), decided.std(ddof=1) / np.sqrt(len(decided))
    excess = decided.mean() / expected - 1
    return {
        "d": d,
        "problem": kind,
        "streams": len(decided),
        "undecided": len(found) - len(decided),
        "mean": decided.mean(),
        "error": error,
        "expected, decoupled": expected,
        "excess": excess,
        "excess, error": error / expected,
        "excess times log p": excess * np.log(expected),
        "p_c": decided.astype(int).tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["8:100", "12:100", "20:40"])
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time; the rest is left out")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    sizes = {int(d): int(streams) for d, streams in (size.split(":") for size in arguments.sizes)}
    first = arguments.first
    tasks = [(d, first + s, kind) for d, streams in sizes.items() for s in range(streams) for kind in arguments.kinds]
    found: dict[tuple[int, str], list] = {(d, kind): [] for d in sizes for kind in arguments.kinds}
    began = time.perf_counter()
    with ProcessPoolExecutor(arguments.processes, get_context("spawn")) as pool:
        # Large sizes first: the small ones fill the gaps at the end.
        waiting = [pool.submit(capacity, task) for task in sorted(tasks, reverse=True)]
        for done in as_completed(waiting):
            d, kind, p_c = done.result()
            found[d, kind].append(p_c)
            if time.perf_counter() - began > arguments.seconds:
                pool.shutdown(wait=False, cancel_futures=True)
                break
    rows = [summary(d, kind, values) for (d, kind), values in found.items() if len(values) > 1]
    for row in rows:
        print({key: round(x, 4) if isinstance(x, float) else x for key, x in row.items() if key != "p_c"})
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump({"seconds": time.perf_counter() - began, "rows": rows}, file)


if __name__ == "__main__":
    main()
