"""What the engine costs: a sweep of many tiny runs with two workers beside the bare loop over the same runs.

    python benchmarks/sweep.py [--runs 1000] [--out FILE]

Both are timed in turns by this script, after their programs are compiled. `ideal` is the time that two bare loops (no
engine, no store) need for half of the runs each. The loops and the workers use one thread each.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ |= {"NPROC": "1", "OPENBLAS_NUM_THREADS": "1"}

from loadstone.runs.engines.dask import DaskEngine, ThisMachine  # noqa: E402
from loadstone.runs.result import perform  # noqa: E402
from loadstone.runs.spec import Spec  # noqa: E402
from loadstone.runs.store import Store  # noqa: E402
from loadstone.runs.sweep import run_sweep  # noqa: E402

WORKERS = 2


#: The smallest runs of the sweeps at the quick scale, at the threshold; and runs that are smaller still.
SIZES = {20: 85, 12: 30}


def specs_of(d: int, runs: int) -> list[Spec]:
    return [Spec("original", d, SIZES[d], seed) for seed in range(runs)]


def bare_loop(d: int, runs: int) -> None:
    """Two loops side by side, so that both cores are as busy as in the sweep. Prints the seconds of this one."""
    specs = specs_of(d, runs)
    perform(specs[:1])
    began = time.perf_counter()
    for spec in specs:
        perform([spec])
    print(time.perf_counter() - began)


def ideal(d: int, runs: int) -> float:
    """Seconds that two bare loops need for half of the runs each, at the same time."""
    half = runs // WORKERS
    command = [sys.executable, __file__, "--d", str(d), "--bare", str(half)]
    loops = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(WORKERS)]
    return statistics.mean(float(loop.communicate()[0]) for loop in loops)


def sweep(d: int, runs: int) -> tuple[float, float]:
    """Seconds of a sweep: in all, and estimated from its pace between a tenth and nine tenths of its runs, when all
    workers have started and none has ended. A run is done when its
    record's file is written: workers report whole jobs."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        began = time.perf_counter()
        outcome = run_sweep(specs_of(d, runs), Store(folder), DaskEngine(ThisMachine(WORKERS)))
        ended = time.perf_counter()
        times = sorted(path.stat().st_mtime for path in Path(folder).rglob("*.record"))
    assert outcome.complete
    first, last = runs // 10, runs * 9 // 10
    return ended - began, (times[last] - times[first]) * runs / (last - first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--d", type=int, choices=SIZES, nargs="+", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bare", type=int)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    if arguments.bare:
        return bare_loop(arguments.d[0], arguments.bare)
    results = []
    for d in arguments.d:
        rows = [measure(d, arguments.runs) for _ in range(arguments.rounds)]
        middle = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
        results.append({"d": d, "p": SIZES[d], "rounds": rows, "median": middle})
        print(f"d = {d}, median:", {name: round(value, 3) for name, value in middle.items()}, flush=True)
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump({"runs": arguments.runs, "workers": WORKERS, "results": results}, file, indent=1)


def measure(d: int, runs: int) -> dict[str, float]:
    """One round: the loops, then the sweep."""
    best, (whole, steady) = ideal(d, runs), sweep(d, runs)
    row = {"ideal_seconds": best, "sweep_seconds": steady, "with_start_seconds": whole, "share_of_ideal": best / steady}
    row["overhead_ms"] = 1e3 * (steady - best) * WORKERS / runs
    print({name: round(value, 3) for name, value in row.items()}, flush=True)
    return row


if __name__ == "__main__":
    main()
