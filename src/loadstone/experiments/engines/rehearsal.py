"""What the next job needs is compiled while the present one runs; an accelerator would be idle meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

import jax

from loadstone.experiments.engines.job import ERRORS, batches
from loadstone.experiments.plan import padded_rows, program
from loadstone.experiments.result import begin
from loadstone.experiments.spec import Spec
from loadstone.problems.budget import Budget

#: A rehearsal takes a quarter of the memory that a run may take, at most: one is going on beside it.
_PART = 4

Job = Sequence[Mapping[str, object]]


def rehearse_after(before: Job, job: Job) -> bool:
    """Have everything compiled for `job` that `before` did not need already, given as identities of specs; whether
    there was anything to do."""
    platform = jax.default_backend()
    if platform == "cpu":  # its cores are busy with the present job
        return False
    last = Spec.from_identity(before[0])
    specs = [Spec.from_identity(identity) for identity in job]
    if program(specs[0], platform) == program(last, platform):
        return False
    return rehearse(specs, platform)


def rehearse(specs: Sequence[Spec], platform: str) -> bool:
    """Go through the first batch of a job without a step of training. What goes wrong will be heard of when it runs."""
    size, together = batches(specs, platform)
    batch = specs[:size]
    needed = max(len(batch), together) * _bytes(batch[0], platform)
    if batch[0].solver == "capacity" or not Budget().allows(_PART * needed):
        return False
    with contextlib.suppress(*ERRORS):
        begin(batch, None, together, rehearsal=True)
    return True


def _bytes(spec: Spec, platform: str) -> int:
    """What the arrays of a problem take, roughly."""
    rows = padded_rows(spec, platform) or spec.p
    own = spec.problem == "decoupled" and spec.form != "regenerated"
    return 4 * rows * spec.d * (rows if own else 8)
