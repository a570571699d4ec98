"""How long the runs of the paper take on this machine, and where the time goes.

    python benchmarks/paper.py [--sweep NAME] [--scale paper] [--store FOLDER] [--seconds S] [--sample] [--out FILE]

Runs the sweep in this process, as `loadstone run SWEEP --scale SCALE --workers 1` does, and notes when each record is
written. The table has a line for each problem, dimension, rank fraction and solver: how many runs, when the first and
the last were written, in seconds since the beginning (imports included), and the median time between two of them; on a
GPU several programs run at a time. After `--seconds` the sweep is interrupted, and what it did is told; with the same
store it goes on. With `--sample` it also tells, for each minute, which functions threads were in.
"""

from __future__ import annotations

import time

BEGAN = time.perf_counter()

import argparse  # noqa: E402
import json  # noqa: E402
import signal  # noqa: E402
import statistics  # noqa: E402
from collections import defaultdict  # noqa: E402
from contextlib import suppress  # noqa: E402
from pathlib import Path  # noqa: E402

import jax  # noqa: E402
from sampling import Sampling  # noqa: E402

from loadstone.cli.interrupts import ends_like_an_interrupt  # noqa: E402
from loadstone.runs.engines.in_process import InProcess  # noqa: E402
from loadstone.runs.plan import by_program  # noqa: E402
from loadstone.runs.record import Record  # noqa: E402
from loadstone.runs.store import Store  # noqa: E402
from loadstone.runs.sweep import run_sweep  # noqa: E402
from loadstone.studies.registry import named_sweep  # noqa: E402


class Timed(Store):
    """A store that remembers when each record was written."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.written: dict[str, float] = {}

    def put(self, record: Record) -> None:
        super().put(record)
        self.written[record.key] = time.perf_counter() - BEGAN


def main() -> None:
    parser = argparse.ArgumentParser(description="How long the runs of the paper take on this machine.")
    parser.add_argument("--sweep", default="paper")
    parser.add_argument("--scale", default="paper")
    parser.add_argument("--store", default="out/paper-store")
    parser.add_argument("--seconds", type=int, default=0, help="stop after so many; 0: never")
    parser.add_argument("--sample", action="store_true", help="also tell what threads are doing")
    parser.add_argument("--out", type=Path, default=Path("out/paper.json"))
    asked = parser.parse_args()
    specs, store, ended = named_sweep(asked.sweep, asked.scale), Timed(asked.store), False
    before, sampling = len(store.keys()), Sampling()
    if asked.sample:
        sampling.start()
    with suppress(KeyboardInterrupt), ends_like_an_interrupt():
        signal.alarm(asked.seconds)
        ended = run_sweep(specs, store, InProcess()).complete
        signal.alarm(0)
    seconds, groups = time.perf_counter() - BEGAN, defaultdict(list)
    for spec in specs:
        if spec.key in store.written:
            what = f"{spec.problem}, d = {spec.d}, kappa = {spec.kappa:g}, {spec.solver}"
            groups[what].append(store.written[spec.key])
    rows = [row(what, sorted(times)) for what, times in sorted(groups.items(), key=lambda item: min(item[1]))]
    for one in rows:
        print("{what:50} {runs:4} runs  {first:7.1f} to {last:7.1f} s  {between:7.3f} s each".format(**one))
    programs = len(by_program(specs, jax.default_backend()))
    report = {"device": jax.devices()[0].device_kind, "jax": jax.__version__}
    report |= {"sweep": asked.sweep, "scale": asked.scale, "runs": len(specs), "programs": programs}
    report |= {"recorded before": before, "recorded": len(store.written), "complete": ended}
    report |= {"seconds": seconds, "rows": rows}
    if asked.sample:
        report["threads"] = sampling.ended()
        for minute, places in enumerate(report["threads"]):
            print(f"minute {minute + 1}: " + "; ".join(f"{place} {threads:.2f}" for place, threads in places[:6]))
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(report, indent=1) + "\n")
    print(f"{len(store.written)} of {len(specs)} runs ({programs} programs) in {seconds:.1f} s; complete: {ended}.")


def row(what: str, times: list[float]) -> dict[str, object]:
    """One line of the table, from the times at which its records were written."""
    gaps = [later - sooner for sooner, later in zip(times, times[1:])]
    between = statistics.median(gaps) if gaps else 0.0
    return {"what": what, "runs": len(times), "first": times[0], "last": times[-1], "between": between}


if __name__ == "__main__":
    main()
