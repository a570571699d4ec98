"""How large a margin can all associations have at once? Predicted in the limit, predicted at this d, and measured.

    JAX_PLATFORMS=cpu OPENBLAS_NUM_THREADS=1 python benchmarks/margin.py --out benchmarks/margin.json

A size is d:p:streams. Every measured margin is proved to be within 10^-6 of the largest there is. 'explained' is the
part of the gap between limit and measurement that the prediction at finite d accounts for.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator

import numpy as np

from loadstone.problems.decoupled import decoupled
from loadstone.problems.original import original
from loadstone.problems.stream import Stream
from loadstone.solvers.margin import maximum_margin
from loadstone.theory.finite_margin import Estimate, finite_largest_margin
from loadstone.theory.margin import largest_margin

SIZES = ["12:18:24", "12:30:24", "20:40:16", "20:65:16", "30:75:12", "30:125:12"]
PROBLEMS = {"original": original, "decoupled": decoupled}


def row(d: int, p: int, streams: int, kind: str, law: str, limit: float, finite: Estimate) -> dict[str, object]:
    found = [maximum_margin(PROBLEMS[kind](Stream(seed, d, law), p)) for seed in range(streams)]
    margins = np.array([one.margin for one in found])
    mean, error = float(margins.mean()), float(margins.std(ddof=1) / math.sqrt(streams))
    gap = limit - mean
    return {
        "d": d,
        "p": p,
        "problem": kind,
        "law": law,
        "streams": streams,
        "limit": limit,
        "at this d": finite.value,
        "at this d, error": finite.error,
        "measured": mean,
        "error": error,
        "explained": (limit - finite.value) / gap,
        "explained, error": math.hypot(finite.error / gap, (limit - finite.value) / gap * error / gap),
        "largest gap of a proof": max(one.gap for one in found),
        "margins": margins.tolist(),
    }


def rows(sizes: list[str], laws: list[str], samples: int) -> Iterator[dict[str, object]]:
    for d, p, streams in (map(int, size.split(":")) for size in sizes):
        limit = largest_margin(d * d, p)
        for law in laws:
            finite = finite_largest_margin(d, p, inputs=law, outputs=law, samples=samples)
            for kind in PROBLEMS:
                yield row(d, p, streams, kind, law, limit, finite)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=SIZES)
    parser.add_argument("--laws", nargs="+", default=["gaussian", "sphere"])
    parser.add_argument("--samples", type=int, default=2000, help="of the prediction at finite d")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    found = []
    for one in rows(arguments.sizes, arguments.laws, arguments.samples):
        found.append(one)
        print(
            {key: round(x, 4) if isinstance(x, float) else x for key, x in one.items() if key != "margins"}, flush=True
        )
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump({"rows": found}, file, indent=1)


if __name__ == "__main__":
    main()
