"""The runs of `loadstone train`: batches of seeds, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import jax

from loadstone.arguments import refuse
from loadstone.experiments.plan import batch_size
from loadstone.experiments.run import Advance, Run, run_batch
from loadstone.experiments.spec import Spec
from loadstone.problems.budget import Budget
from loadstone.solvers.stop import NO_LIMITS, Limits


def run_all(
    specs: Sequence[Spec],
    budget: Budget | None = None,
    advance: Advance | None = None,
    limits: Limits = NO_LIMITS,
    checkpoint: str | Path | None = None,
    devices: int | None = None,
) -> list[Run]:
    """Run every spec; `advance(done, words)` is told how many passes are done (1 for a closed form). A single run may
    have a checkpoint. With a number of devices each run is spread over so many."""
    if checkpoint is not None and len(specs) > 1:
        raise refuse("checkpoint", str(checkpoint), f"left out for {len(specs)} runs: it holds one search")
    runs: list[Run] = []
    done = 0
    for batch in _batches(specs) if devices is None else ([spec] for spec in specs):

        def hear(passes: int, words: str, done: int = done, size: int = len(batch)) -> None:
            if advance:
                advance(done + size * passes, words)

        runs += [run for _, run in run_batch(batch, budget, hear, 1, limits, checkpoint, devices)]
        done += batch[0].passes * len(batch)
        hear(batch[0].passes, "")
    return runs


def _batches(specs: Sequence[Spec]) -> Iterator[list[Spec]]:
    """Neighbours that differ only in their seeds, in batches of the size that the present device trains at once."""
    for shape, group in groupby(specs, lambda spec: spec.without_seed):
        alike, size = list(group), batch_size(shape, jax.default_backend())
        yield from (alike[first : first + size] for first in range(0, len(alike), size))
