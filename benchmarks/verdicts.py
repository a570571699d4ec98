"""Exact verdicts: how many instances are decided, how fast, how the time grows with d, and a comparison with HiGHS.

    python benchmarks/verdicts.py [--only NAME] [--out benchmarks/verdicts.json]

HiGHS (scipy.optimize.linprog) answers the same question on the same instances: is the largest margin of a W with
entries in [-1, 1] positive? Both sides take turns in one process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter

import numpy as np
from cpu import machine
from scipy.optimize import linprog

from loadstone.problems.arrays import Arrays
from loadstone.problems.instance import Instance
from loadstone.solvers.decide import decide
from loadstone.streams.stream import Stream
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import nearest_associations


def many_small() -> dict[str, object]:
    """200 instances at d = 20, p from 70 to 110, both kinds. Aim: none undecided, under 30 s in all."""
    cases = [("original", "decoupled")[i % 2] for i in range(200)]
    sizes = np.linspace(70, 110, 200).round().astype(int)
    return _decide_all([(kind, 20, int(p), seed) for seed, (kind, p) in enumerate(zip(cases, sizes))])


def middle() -> dict[str, object]:
    """20 instances at d = 50 at the predicted threshold. Aim: none undecided, median under 5 s."""
    p = round(float(capacity_associations(50)))
    return _decide_all([(("original", "decoupled")[seed % 2], 50, p, seed) for seed in range(20)])


def large() -> dict[str, object]:
    """d = 100 at loads 0.80, 0.84 and 0.90. Aim: each decided in under 240 s."""
    return _decide_all([("original", 100, nearest_associations(load, 100), 0) for load in (0.80, 0.84, 0.90)])


def growth() -> dict[str, object]:
    """Seconds at the predicted threshold for growing d: median of five original instances, of ten at d = 100."""
    table = {}
    for d in (12, 20, 30, 40, 50, 70, 100):
        p = round(float(capacity_associations(d)))
        seeds = range(5) if d < 100 else range(10)
        table[d] = _decide_all([("original", d, p, seed) for seed in seeds])["median seconds"]
        print(f"  d = {d}, p = {p}: {table[d]:.3g} s", flush=True)
    d, seconds = np.log(list(table)[1:]), np.log(list(table.values())[1:])
    return {"median seconds": table, "exponent of d": float(np.polyfit(d, seconds, 1)[0])}


def beside_highs() -> dict[str, object]:
    """The same d = 20 instances, ours and HiGHS in turns. Expected: a factor over 100, and the same answers."""
    pairs, same = [], 0
    for seed in range(4):
        arrays = Instance(Stream(seed, 20), 85).arrays()
        began = time.perf_counter()
        ours = decide(arrays).verdict
        middle = time.perf_counter()
        theirs = highs_verdict(arrays)
        ended = time.perf_counter()
        pairs.append((middle - began, ended - middle))
        same += ours == theirs
        print(f"  seed {seed}: ours {ours} in {pairs[-1][0]:.3f} s, HiGHS {theirs} in {pairs[-1][1]:.1f} s", flush=True)
    return {
        "instances": len(pairs),
        "same verdict": same,
        "median seconds, ours": statistics.median(ours for ours, _ in pairs),
        "median seconds, HiGHS": statistics.median(theirs for _, theirs in pairs),
        "median ratio": statistics.median(theirs / ours for ours, theirs in pairs),
    }


def highs_verdict(arrays: Arrays) -> str:
    """Maximise the least margin over W with entries in [-1, 1]."""
    n, d = arrays.inputs.shape
    rows = []
    for index in range(n):
        outputs = (arrays.outputs[index] if arrays.decoupled else arrays.outputs).astype(float)
        target = arrays.targets[index]
        differences = np.delete(outputs[target] - outputs, target, axis=0)
        rows.append(
            np.einsum("ri,j->rij", differences, arrays.inputs[index].astype(float)).reshape(len(differences), -1)
        )
    margins = np.concatenate(rows)
    matrix = np.hstack([-margins, np.ones((len(margins), 1))])
    bounds = [(-1, 1)] * (d * d) + [(None, None)]
    best = linprog([0.0] * (d * d) + [-1.0], matrix, np.zeros(len(matrix)), bounds=bounds, method="highs")
    return "storable" if best.x[-1] > 1e-7 else "not storable"


def _decide_all(cases: list[tuple[str, int, int, int]]) -> dict[str, object]:
    began, seconds, verdicts, steps, dense = time.perf_counter(), [], Counter(), [], 0
    for kind, d, p, seed in cases:
        verdict = decide(Instance(Stream(seed, d), p, kind=kind).arrays())
        seconds.append(verdict.seconds)
        steps.append(verdict.newton_steps)
        dense += verdict.dense_solves
        verdicts[verdict.verdict] += 1
        if d >= 100:
            print(f"  {kind}, d = {d}, p = {p}: {verdict.verdict} in {verdict.seconds:.1f} s", flush=True)
    return {
        "instances": len(cases),
        "verdicts": dict(verdicts),
        "median seconds": statistics.median(seconds),
        "longest seconds": max(seconds),
        "seconds in all, drawing included": time.perf_counter() - began,
        "median Newton steps": statistics.median(steps),
        "dense solves": dense,
    }


CASES = {
    "200 at d=20": many_small,
    "20 at d=50": middle,
    "d=100": large,
    "growth": growth,
    "beside HiGHS": beside_highs,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="cases whose name contains this")
    parser.add_argument("--out", help="file for the results (JSON)")
    arguments = parser.parse_args()
    results = {"machine": machine(), "cases": {}}
    for name, measure in CASES.items():
        if arguments.only and arguments.only not in name:
            continue
        print(f"{name}: {measure.__doc__}", flush=True)
        results["cases"][name] = measure()
        for key, value in results["cases"][name].items():
            print(f"  {key}: {value}")
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
