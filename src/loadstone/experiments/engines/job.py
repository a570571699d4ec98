"""What a worker does: run a few specs of one program and write each record durably before saying so.

A job may be given twice, to the same worker or to another: what has its record is not run again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Lock

import jax

from loadstone.experiments.plan import batch_size, writers
from loadstone.experiments.record import Record
from loadstone.experiments.result import begin
from loadstone.experiments.spec import Spec
from loadstone.experiments.store import Store
from loadstone.experiments.sweep import recorded
from loadstone.problems.budget import Budget

Report = dict[str, object]
#: What a run may fail with; others are mistakes of ours.
ERRORS = (ValueError, ArithmeticError, MemoryError, jax.errors.JaxRuntimeError)


def run_job(
    identities: Sequence[Mapping[str, object]],
    folder: str | Path,
    budget: int | None = None,
    tell: Callable[[Report], None] = lambda report: None,
) -> list[Report]:
    """Run specs of one program, the largest first, given by their identities. A report for each says 'done' or 'failed'
    and why.

    Records are finished and written, and their disk waited for, while the next batch computes. An error of writing is
    raised: no later record could be kept either.
    """
    store = Store(folder)
    specs = [Spec.from_identity(identity) for identity in identities]
    platform = jax.default_backend()
    # A budget is for one problem at a time.
    size, together = (1, 1) if budget else batches(specs, platform)
    limit = Budget(budget) if budget else None
    reports: list[Report] = []
    one_at_a_time = Lock()

    def report(spec: Spec, **words: object) -> None:
        with one_at_a_time:
            reports.append({"key": spec.key} | words)
            tell(reports[-1])

    def keep(spec: Spec, finish: Callable[[], Record]) -> None:
        try:
            record = finish()
        except ERRORS as error:
            give_up(spec, _sentence(error))
        else:
            store.put(record)
            report(spec, done=True, status=record.result.get("status"))

    def give_up(spec: Spec, why: str) -> None:
        report(spec, done=False, why=why)

    with ThreadPoolExecutor(writers(platform)) as pool:
        unwritten: deque[Future] = deque()
        for first in range(0, len(specs), size):
            batch = specs[first : first + size]
            there = {spec: record for spec in batch if (record := recorded(spec, store))}
            tasks = [
                partial(report, spec, done=True, status=record.result.get("status")) for spec, record in there.items()
            ]
            missing = [spec for spec in batch if spec not in there]
            # Attempts are made as the loop asks for them: a batch computes before those before it are waited for.
            attempts = _attempt(missing, together, limit, keep, give_up) if missing else ()
            for group in chain([tasks] if tasks else (), attempts):
                _wait(unwritten, writers(platform) - 1)
                unwritten.extend(pool.submit(task) for task in group)
        _wait(unwritten)
    return reports


def batches(specs: Sequence[Spec], platform: str) -> tuple[int, int]:
    """How many runs of a job to train at a time, and up to how many to fill up what is left."""
    size = batch_size(specs[0], platform)
    # Of several batches the last is filled up. A single one is compiled as it is: there may be more of its size.
    return size, size if len(specs) > size else 1


def _attempt(
    batch: Sequence[Spec], together: int, limit: Budget | None, keep: Callable, give_up: Callable
) -> Iterator[list[Callable[[], None]]]:
    """Run a batch, filled up to `together`; what is to be done with what came of it. If it fails as one, each run is
    tried alone."""
    try:
        begun, why = begin(batch, limit, together), ""
    except ERRORS as error:
        begun, why = [], _sentence(error)
    # Out here nothing holds on to what the failed batch had on the device.
    if begun:
        yield [partial(keep, spec, finish) for spec, finish in zip(batch, begun)]
    elif len(batch) == together == 1:
        yield [partial(give_up, batch[0], why)]
    else:
        for spec in batch:
            yield from _attempt([spec], 1, limit, keep, give_up)


def _wait(tasks: deque[Future], left: int = 0) -> None:
    """Until no more than `left` are to be waited for. Of their errors one of writing comes first: it is the one that
    concerns all records."""
    while tasks and (len(tasks) > left or tasks[0].done()):
        if tasks[0].exception():
            errors = [error for task in tasks if (error := task.exception())]
            raise next((error for error in errors if isinstance(error, OSError)), errors[0])
        tasks.popleft()


def _sentence(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]
