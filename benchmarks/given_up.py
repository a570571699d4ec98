"""Which bisections end elsewhere because hopeless searches below full rank are given up, and what that saves.

    python benchmarks/given_up.py [--out FILE] [--small]

Each bisection is done with searches that go on to their minimum or their last pass, and again with searches that are
given up where small changes of the factors gain less than a number over the passes that they may have. Searches of
loadstone use 20, from ten columns on (`tasks/multi_start.py`). Larger numbers show how far away the first mistake is,
and fewer columns where the rule would fail. Takes half an hour on two cores; --small only shows that the script runs.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from unittest import mock

import jax

from loadstone.problems.instance import Instance
from loadstone.streams.stream import Stream
from loadstone.studies.kit.runs import share_of_capacity
from loadstone.tasks import multi_start
from loadstone.tasks.multi_start import MultiStart
from loadstone.tasks.reach import Reach, largest_stored

#: Problem, dimension, numbers of columns, streams.
CASES = (
    ("original", 20, (3, 4, 5, 6, 8, 10, 14), 8),
    ("original", 30, (4, 5, 6, 8, 10, 12, 15), 8),
    ("original", 50, (10, 12, 25), 5),
    ("decoupled", 20, (3, 4, 5, 6, 8, 10, 14), 8),
    ("decoupled", 30, (4, 5, 6, 8, 10, 12, 15), 8),
)
SMALL = (("original", 12, (3, 6), 2),)
LIMITS = (20, 30, 40, 60)
PASSES = (1000, 300)


def reached(problem: str, d: int, columns: int, seed: int, passes: int, limit: float | None) -> Reach:
    """What a bisection finds if searches with any number of columns are given up below this limit; None: never."""
    around, searches = share_of_capacity(1, d, columns / d), MultiStart(passes=passes, patient=limit is None)
    with mock.patch.multiple(multi_start, _CANNOT_STORE_NEARBY=limit, _LEAST_RANK=1):
        return largest_stored(Instance(Stream(seed, d), around, kind=problem), columns / d, searches=searches)


def compared(problem: str, d: int, columns: int, streams: int, passes: int) -> dict[str, object]:
    """For each limit: in how many streams another p is stored, and the share of the passes."""
    row: dict[str, object] = {"problem": problem, "d": d, "columns": columns, "streams": streams, "passes": passes}
    whole = [reached(problem, d, columns, seed, passes, None) for seed in range(streams)]
    for limit in LIMITS:
        early = [reached(problem, d, columns, seed, passes, limit) for seed in range(streams)]
        differ = [(one.stored, other.stored) for one, other in zip(early, whole) if one.stored != other.stored]
        row[f"limit {limit}"] = {"differ": differ, "share of the passes": round(taken(early) / taken(whole), 3)}
    return row


def taken(found: list[Reach]) -> int:
    return sum(one.passes for reach in found for one in reach.attempts)


def main() -> None:
    parser = argparse.ArgumentParser(description="What is lost and saved by giving up hopeless searches.")
    parser.add_argument("--out", type=Path, help="file for the results (JSON)")
    parser.add_argument("--small", action="store_true", help="tiny sizes, only to see that it runs")
    asked = parser.parse_args()
    rows = []
    for passes in PASSES:
        for problem, d, numbers, streams in SMALL if asked.small else CASES:
            for columns in numbers:
                rows.append(compared(problem, d, columns, streams, passes))
                print(json.dumps(rows[-1]), flush=True)
                jax.clear_caches()  # the programs of all bisections together would take too much memory
    if asked.out:
        asked.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
