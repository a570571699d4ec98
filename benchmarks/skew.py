"""How many facts fit when some answers are asked for more often than others? Exact capacities beside the formula.

    JAX_PLATFORMS=cpu OPENBLAS_NUM_THREADS=1 python benchmarks/skew.py --out benchmarks/skew.json

Outputs are shared, and targets are drawn at random, or dealt so that the counts of every prefix are as close to the
frequencies as whole numbers allow. The capacity of a stream is the largest N whose first N facts are proved storable.
"""

from __future__ import annotations

import argparse
import json

import numpy as np

from loadstone.problems.arrays import Arrays
from loadstone.proofs.verdict import Outcome
from loadstone.solvers.decide import decide
from loadstone.theory.codimension import codimension
from loadstone.theory.skew import random_target_capacity, skewed_capacity

CASES = ["3:harmonic", "9:harmonic", "13:equal", "17:harmonic"]


def dealt(shares: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    """Targets one by one, each time the answer that lags most behind its share; ties are broken at random."""
    counts, targets = 0.01 * random.random(len(shares)), []
    for n in range(1, count + 1):
        targets.append(int(np.argmax(n * shares - counts)))
        counts[targets[-1]] += 1
    return np.array(targets)


def capacity(d: int, shares: np.ndarray, how: str, seed: int) -> int:
    random = np.random.default_rng(seed)
    count = 4 * d * len(shares)
    inputs, outputs = random.standard_normal((count, d)), random.standard_normal((len(shares), d))
    targets = random.choice(len(shares), count, p=shares) if how == "random" else dealt(shares, count, random)

    def storable(n: int) -> bool:
        return decide(Arrays(inputs[:n], outputs, targets[:n])).verdict == Outcome.STORABLE

    low, high = 1, count
    while high - low > 1:
        middle = (low + min(high, 3 * low + d)) // 2
        low, high = (middle, high) if storable(middle) else (low, middle)
    return low


def row(d: int, case: str, how: str, streams: int) -> dict[str, object]:
    answers, kind = case.split(":")
    shares = 1 / np.arange(1, int(answers) + 1) if kind == "harmonic" else np.ones(int(answers))
    shares /= shares.sum()
    found = np.array([capacity(d, shares, how, seed) for seed in range(streams)], float)
    predicted = (
        random_target_capacity(d, shares, draws=12, samples=1500) if how == "random" else skewed_capacity(d, shares)
    )
    return {
        "d": d,
        "answers": int(answers),
        "frequencies": kind,
        "targets": how,
        "streams": streams,
        "equal frequencies": d * (len(shares) - 1) / codimension(len(shares)),
        "predicted": predicted.value,
        "predicted, error": predicted.error,
        "measured": float(found.mean()),
        "error": float(found.std(ddof=1) / np.sqrt(streams)),
        "capacities": found.astype(int).tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=CASES, help="answers:harmonic (pi_y ~ 1/y) or answers:equal")
    parser.add_argument("--d", type=int, default=16)
    parser.add_argument("--streams", type=int, default=40)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    rows = []
    for case in arguments.cases:
        for how in ("random", "dealt"):
            rows.append(row(arguments.d, case, how, arguments.streams))
            print(
                {key: round(x, 3) if isinstance(x, float) else x for key, x in rows[-1].items() if key != "capacities"}
            )
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump({"rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
