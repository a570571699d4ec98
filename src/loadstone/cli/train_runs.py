"""The runs of `loadstone train`: batches of seeds, one after the other, and their summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

import jax

from loadstone.arguments import rank_of, refuse
from loadstone.problems.budget import Budget
from loadstone.progress import Progress, silent
from loadstone.runs.plan import batch_size
from loadstone.runs.spec import Spec
from loadstone.solvers.stop import NO_LIMITS, Limits
from loadstone.tasks.checked_spec import CheckedSpec
from loadstone.tasks.train import Run, run_batch
from loadstone.theory.load import load


def run_all(
    specs: Sequence[Spec],
    budget: Budget | None = None,
    progress: Progress = silent,
    limits: Limits = NO_LIMITS,
    checkpoint: str | Path | None = None,
    devices: int | None = None,
) -> list[Run]:
    """The run of every spec. Progress counts the passes that are done (1 for a closed form). A single run may have a
    checkpoint. With `devices`, each run is spread over this many."""
    if checkpoint is not None and len(specs) > 1:
        raise refuse("checkpoint", str(checkpoint), f"left out for {len(specs)} runs: it holds one search")
    runs: list[Run] = []
    done = 0
    for batch in _batches(specs) if devices is None else ([spec] for spec in specs):

        def of_batch(passes: int, words: str, done: int = done, size: int = len(batch)) -> None:
            progress(done + size * passes, words)

        runs += [run for _, run in run_batch(batch, budget, of_batch, 1, limits, checkpoint, devices)]
        done += batch[0].passes * len(batch)
        progress(done, "")
    return runs


def _batches(specs: Sequence[Spec]) -> Iterator[list[Spec]]:
    """Neighbours that differ only in their seeds, in batches of the size that the present device trains at once."""
    for shape, group in groupby(specs, lambda spec: spec.without_seed):
        alike, size = list(group), batch_size(shape, jax.default_backend())
        yield from (alike[first : first + size] for first in range(0, len(alike), size))


def summary(runs: list[Run]) -> dict[str, object]:
    """One object for all seeds: means, smallest margin, the status if it is the same for all; each run in `runs`."""
    outcomes: list[dict[str, Any]] = [run.outcome() for run in runs]
    spec = runs[0].spec
    of_all: dict[str, Callable[[list[float]], float]]
    of_all = dict.fromkeys(("accuracy", "violations", "loss", "margin", "steps", "passes"), fmean)
    of_all |= {"margin": min, "seconds": sum}
    statuses = {outcome["status"] for outcome in outcomes}
    combined: dict[str, object] = {name: of([outcome[name] for outcome in outcomes]) for name, of in of_all.items()}
    combined["status"] = statuses.pop() if len(statuses) == 1 else "mixed"
    shared = {"load": load(spec.p, spec.d), "seeds": len(runs), "description": runs[0].description}
    return about(spec) | shared | (outcomes[0] if len(runs) == 1 else combined) | {"runs": outcomes}


def about(spec: CheckedSpec) -> dict[str, object]:
    """The words and numbers that identify a run."""
    run: dict[str, object] = {
        "problem": spec.problem, "p": spec.p, "d": spec.d, "kappa": spec.kappa,
        "rank": rank_of(spec.kappa, spec.d),
        "law": spec.law, "family": spec.family, "seed": spec.seed, "solver": spec.solver,
        "stop": spec.stop if spec.is_iterative else "none",
    }  # fmt: skip
    if spec.answers is None:
        return run
    return run | {"answers": spec.answers, "frequencies": spec.instance.frequencies}
