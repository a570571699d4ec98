"""What a worker does: run a few specs of one shape and write each record durably before saying so.

A job may be given twice, to the same worker or to another: what has its record is not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import jax

from loadstone.experiments.plan import batch_size
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

    An error of writing is raised: no later record could be kept either.
    """
    store = Store(folder)
    specs = [Spec.from_identity(identity) for identity in identities]
    size = batch_size(specs[0], jax.default_backend())
    limit = Budget(budget) if budget else None
    reports: list[Report] = []

    def report(spec: Spec, **words: object) -> None:
        reports.append({"key": spec.key} | words)
        tell(reports[-1])

    for first in range(0, len(specs), size):
        batch = []
        for spec in specs[first : first + size]:
            there = store.get(spec.key)
            if there:
                report(spec, done=True, status=there.result.get("status"))
            else:
                batch.append(spec)
        if not batch:
            continue
        try:
            records = perform(batch, limit)
        except (ValueError, ArithmeticError, MemoryError, jax.errors.JaxRuntimeError) as error:
            for spec in batch:
                report(spec, done=False, why=" ".join(f"{type(error).__name__}: {error}".split())[:500])
            continue
        for spec, record in zip(batch, records):
            store.put(record)
            report(spec, done=True, status=record.result.get("status"))
    return reports
