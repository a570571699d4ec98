"""Perform runs, and make their records: the results, and the circumstances of the run."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from functools import cache, partial

import jax

import loadstone
from loadstone.problems.budget import Budget
from loadstone.runs.record import Record
from loadstone.runs.spec import Spec
from loadstone.solvers.solver import automatic_precision
from loadstone.tasks.task import Result


def perform(specs: Sequence[Spec], budget: Budget | None = None) -> list[Record]:
    """Run specs of one program, as one batch if they are several, and return their records."""
    return [finish() for finish in begin(specs, budget)]


def begin(specs: Sequence[Spec], budget: Budget | None = None, together: int = 1) -> list[Callable[[], Record]]:
    """Do the part of `perform` that needs the accelerator. Returns a function for each spec that finishes its record on
    the CPU, which may be called while the next specs run. A smaller batch is filled up to `together`."""
    finishing = specs[0].task.run(specs, budget, together)
    return [partial(_record, spec, finish) for spec, finish in zip(specs, finishing)]


def _record(spec: Spec, finish: Callable[[], Result]) -> Record:
    fields, seconds = finish()
    return Record(spec.key, spec.identity(), fields, {"seconds": seconds, **_circumstances()})


@cache
def _circumstances() -> dict[str, str]:
    return {
        "loadstone": loadstone.__version__,
        "jax": jax.__version__,
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
        "machine": platform.machine(),
        "auto_precision": automatic_precision(),
    }
