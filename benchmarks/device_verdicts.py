"""Exact verdicts on an accelerator, in float64, at sizes that are too large for a CPU: seconds and proved bounds.

python benchmarks/device_verdicts.py --d 100 200 300 [--offset 0] [--kinds original] [--out FILE]
"""

from __future__ import annotations

import argparse
import json

import jax

from loadstone.problems.instance import Instance
from loadstone.solvers.decide import ProofLimits, decide
from loadstone.streams.stream import Stream
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--d", type=int, nargs="+", default=[100, 200, 300])
    parser.add_argument("--offsets", type=float, nargs="+", default=[0.0], help="p = p_c (1 + offset)")
    parser.add_argument("--kinds", nargs="+", default=["original"])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    device = jax.devices()[0]
    print(device.device_kind, jax.__version__, flush=True)
    rows = []
    for d in arguments.d:
        for kind in arguments.kinds:
            for offset in arguments.offsets:
                p = round(float(capacity_associations(d)) * (1 + offset))
                tell = lambda *words: print("   ", *words, flush=True)  # noqa: E731
                found = decide(
                    Instance(Stream(0, d), p, kind=kind).arrays(), ProofLimits(arguments.steps), progress=tell
                )
                row = {"kind": kind, "d": d, "p": p, "load": load(p, d), "verdict": found.verdict}
                row |= {"seconds": found.seconds, "newton_steps": found.newton_steps, "reason": found.reason}
                row |= {"cg_products": found.cg_products, "dense_solves": found.dense_solves}
                row |= {"margin": found.margin}
                rows.append(row)
                print(row, flush=True)
                if arguments.out:
                    with open(arguments.out, "w") as file:
                        json.dump({"device": device.device_kind, "jax": jax.__version__, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
