"""What the next job needs is compiled while the present one runs; an accelerator would be idle meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import jax

from loadstone.experiments.engines.inbox import Job
from loadstone.experiments.engines.job import ERRORS, batches
from loadstone.experiments.plan import padded_rows, program
from loadstone.experiments.result import begin
from loadstone.experiments.spec import Spec
from loadstone.problems.budget import Budget
from loadstone.problems.decoupled import decoupled_bytes
from loadstone.problems.original import original_bytes


def rehearse_after(before: Job, job: Job) -> bool:
    """Have everything compiled for `job` that `before`, which runs just now, does not need as well, if there is room
    for both; whether it was done. Jobs are given as identities of specs."""
    platform = jax.default_backend()
    if platform == "cpu":  # its cores are busy with the present job
        return False
    present, specs = ([Spec.from_identity(identity) for identity in one] for one in (before, job))
    if _programs(present, platform) == _programs(specs, platform) or specs[0].solver == "capacity":
        return False
    with contextlib.suppress(*ERRORS):  # they will be heard of when the job runs
        # A run may take half of what is free: what it takes must not depend on a rehearsal beside it.
        if Budget().allows(_bytes(present, platform) + _bytes(specs, platform)):
            rehearse(specs, platform)
            return True
    return False


def rehearse(specs: Sequence[Spec], platform: str) -> None:
    """Go through the first batch of a job without a step of training."""
    size, together = batches(specs, platform)
    begin(specs[:size], None, together, rehearsal=True)


def _programs(specs: Sequence[Spec], platform: str) -> tuple[Spec, int]:
    """What is compiled for a job: a program, for a number of runs at a time."""
    size, together = batches(specs, platform)
    return program(specs[0], platform), max(len(specs[:size]), together)


def _bytes(specs: Sequence[Spec], platform: str) -> int:
    """What a batch of a job takes at most, its largest run being the first. Several are stacked, so they are there
    twice for a while."""
    spec, count = specs[0], _programs(specs, platform)[1]
    rows = padded_rows(spec, platform) or spec.p
    if spec.problem == "original":
        one = original_bytes(rows, spec.d)
    else:
        one = decoupled_bytes(rows, spec.d, None if spec.form == "regenerated" else spec.stored_dtype)
    return one if count == 1 else 2 * count * one
