"""How little the length of the warm-up matters: the paper's protocol with other lengths, around the threshold.

python benchmarks/warmup.py
"""

from __future__ import annotations

import statistics

import loadstone
from loadstone.solvers.gradient import Paper
from loadstone.solvers.solve import solve_batch
from loadstone.theory.load import nearest_associations

D, SEEDS = 50, 10
LOADS = (0.5, 0.7, 0.75, 0.8, 0.9, 1.1)
WARMUPS = (0, 8, 32, 128)


def main() -> None:
    print(f"original problem, d = {D}, {SEEDS} seeds: mean accuracy (deviation of the mean), mean steps")
    print("load  " + "".join(f"warm-up {warmup:<20}" for warmup in WARMUPS))
    for load in LOADS:
        p = nearest_associations(load, D)
        problems = [loadstone.original(loadstone.Stream(seed, D), p) for seed in range(SEEDS)]
        memories = [loadstone.initial_memory(D, 1.0, seed=seed) for seed in range(SEEDS)]
        cells = []
        for warmup in WARMUPS:
            solutions = solve_batch(problems, memories, solver=Paper(warmup=warmup))
            accuracies = [loadstone.measure(pr, s.memory).accuracy for pr, s in zip(problems, solutions)]
            error = statistics.stdev(accuracies) / SEEDS**0.5
            steps = statistics.fmean(solution.steps for solution in solutions)
            cells.append(f"{statistics.fmean(accuracies):.4f} ({error:.4f}) {steps:4.0f}")
        print(f"{load:<6}" + "".join(f"{cell:<28}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
