"""A worker process of the local engine: jobs come in as lines of JSON, reports go out as lines of JSON.

    python -m loadstone.experiments.engines.worker STORE [BUDGET]

It ends when its input ends, at once and in the middle of a run if need be: a store is safe against that, and a
worker whose driver was killed must not go on for hours.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor


def main() -> None:
    folder, budget = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None
    # Whatever prints to standard output must not end up between the reports.
    reports = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def tell(report: dict[str, object]) -> None:
        reports.write(json.dumps(report) + "\n")

    jobs: queue.SimpleQueue[tuple[list[dict], Future | None]] = queue.SimpleQueue()
    # Runs within a budget have the device to themselves.
    rehearsals = None if budget else ThreadPoolExecutor(1)
    threading.Thread(target=_read, args=(jobs, rehearsals), daemon=True).start()

    import jax

    from loadstone.experiments.engines.job import run_job

    tell({"ready": True, "platform": jax.default_backend()})
    while True:
        job, rehearsal = jobs.get()
        if rehearsal:
            rehearsal.result()
        try:
            run_job(job, folder, budget, tell)
            tell({"free": True})
        except OSError as error:
            tell({"stop": f"the store {folder} cannot be written: {error}."})


def _read(jobs: queue.SimpleQueue, rehearsals: ThreadPoolExecutor | None) -> None:
    before = None
    for line in sys.stdin:
        job = json.loads(line)
        jobs.put((job, rehearsals.submit(_rehearse, before, job) if rehearsals and before else None))
        before = job
    os._exit(0)


def _rehearse(before: list[dict], job: list[dict]) -> None:
    from loadstone.experiments.engines.rehearsal import rehearse_after

    rehearse_after(before, job)


if __name__ == "__main__":
    main()
