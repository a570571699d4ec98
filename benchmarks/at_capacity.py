"""Whether L-BFGS stores a stream at its own capacity, which is proved first, and at 0.99 of it.

    python benchmarks/at_capacity.py [--streams 40] [--out FILE]

For d = 30 and 50: how many streams are stored, and the median of the passes that this takes. A search has at most 1000
passes, as many as a whole bisection has. With --out, streams that the file has already are not done again.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

from loadstone.problems.instance import Instance
from loadstone.problems.original import original
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits
from loadstone.streams.stream import Stream
from loadstone.studies.kit.runs import share_of_capacity
from loadstone.tasks.capacity import exact_capacity

DIMENSIONS, SHARES = (30, 50), (0.99, 1.0)
MOST_PASSES = 1000


def tried(d: int, seed: int) -> dict[str, object]:
    p_c = exact_capacity(Instance(Stream(seed, d), share_of_capacity(1, d))).p_c
    row: dict[str, object] = {"d": d, "seed": seed, "p_c": p_c}
    for share in SHARES if p_c else ():
        solution = solve(original(Stream(seed, d), int(share * p_c)), limits=Limits(MOST_PASSES))
        row[str(share)] = {"status": solution.status.value, "passes": solution.passes}
    return row


def summary(rows: list[dict]) -> list[dict[str, object]]:
    found = []
    for d in DIMENSIONS:
        proved = [row for row in rows if row["d"] == d and row["p_c"]]
        for share in map(str, SHARES) if proved else ():
            passes = [row[share]["passes"] for row in proved if row[share]["status"] == "stored"]
            median = statistics.median(passes) if passes else None
            counts = {"streams": len(proved), "stored": len(passes), "passes": median}
            found.append({"d": d, "share": float(share)} | counts)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=40)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    rows = json.loads(asked.out.read_text())["rows"] if asked.out and asked.out.exists() else []
    done = {(row["d"], row["seed"]) for row in rows}
    for d in DIMENSIONS:
        for seed in range(asked.streams):
            if (d, seed) not in done:
                rows.append(tried(d, seed))
                if asked.out:
                    asked.out.write_text(json.dumps({"summary": summary(rows), "rows": rows}, indent=1) + "\n")
    print(*summary(rows), sep="\n")


if __name__ == "__main__":
    main()
