"""A worker process of the local engine: jobs come in as lines of JSON, reports go out as lines of JSON.

    python -m loadstone.experiments.engines.worker STORE [BUDGET]

It ends when its input ends, at once and in the middle of a run if need be: a store is safe against that, and a
worker whose driver was killed must not go on for hours.
"""

from __future__ import annotations

import json
import os
import sys
import threading

from loadstone.experiments.engines.inbox import Inbox


def main() -> None:
    folder, budget = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None
    # Whatever prints to standard output must not end up between the reports.
    reports = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def tell(report: dict[str, object]) -> None:
        reports.write(json.dumps(report) + "\n")

    # Runs within a budget have the device to themselves.
    jobs = Inbox(None if budget else _rehearse)
    threading.Thread(target=_read, args=(jobs,), daemon=True).start()

    import jax

    from loadstone.experiments.engines.job import run_job

    tell({"ready": True, "platform": jax.default_backend()})
    while True:
        job = jobs.take()
        try:
            run_job(job, folder, budget, tell)
            jobs.done(job)
            tell({"free": True})
        except OSError as error:
            tell({"stop": f"the store {folder} cannot be written: {error}."})


def _read(jobs: Inbox) -> None:
    for line in sys.stdin:
        jobs.put(json.loads(line))
    os._exit(0)


def _rehearse(before: list[dict], job: list[dict]) -> None:
    # Imports JAX: this thread was there before it.
    from loadstone.experiments.engines.rehearsal import rehearse_after

    rehearse_after(before, job)


if __name__ == "__main__":
    main()
