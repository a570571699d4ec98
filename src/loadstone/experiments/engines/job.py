"""What a worker does: run a few specs of one shape and write each record durably before saying so.

A job may be given twice, to the same worker or to another: what has its record is not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import jax

from loadstone.experiments.plan import batch_size
from loadstone.experiments.record import Record
from loadstone.experiments.result import perform
from loadstone.experiments.spec import Spec
from loadstone.experiments.store import Store
from loadstone.problems.budget import Budget

Report = dict[str, object]


def run_job(
    identities: Sequence[Mapping[str, object]],
    folder: str | Path,
    budget: int | None = None,
    tell: Callable[[Report], None] = lambda report: None,
) -> list[Report]:
    """Run specs of one shape, given by their identities. A report for each says 'done' or 'failed' and why.

    A record is written, and its disk waited for, while the next run computes. An error of writing is raised: no later
    record could be kept either.
    """
    store = Store(folder)
    specs = [Spec.from_identity(identity) for identity in identities]
    size = batch_size(specs[0], jax.default_backend())
    limit = Budget(budget) if budget else None
    reports: list[Report] = []

    def report(spec: Spec, **words: object) -> None:
        reports.append({"key": spec.key} | words)
        tell(reports[-1])

    def keep(records: Sequence[Record], batch: Sequence[Spec]) -> None:
        for spec, record in zip(batch, records):
            store.put(record)
            report(spec, done=True, status=record.result.get("status"))

    def give_up(batch: Sequence[Spec], why: str) -> None:
        for spec in batch:
            report(spec, done=False, why=why)

    with ThreadPoolExecutor(1) as writer:
        last: Future | None = None
        for first in range(0, len(specs), size):
            batch = specs[first : first + size]
            there = [(spec, record) for spec in batch if (record := store.get(spec.key))]
            for spec, record in there:
                writer.submit(report, spec, done=True, status=record.result.get("status"))
            batch = [spec for spec in batch if spec not in dict(there)]
            if not batch:
                continue
            task = _attempt(batch, limit, keep, give_up)
            if last:
                last.result()
            last = writer.submit(task)
        if last:
            last.result()
    return reports


def _attempt(batch: Sequence[Spec], limit: Budget | None, keep: Callable, give_up: Callable) -> Callable[[], None]:
    """Run a batch now; what is to be done with what came of it."""
    try:
        records = perform(batch, limit)
    except (ValueError, ArithmeticError, MemoryError, jax.errors.JaxRuntimeError) as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        return partial(give_up, batch, why)
    return partial(keep, records, batch)
