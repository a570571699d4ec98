"""Compile the programs of a run before it starts: a GPU that waits for a compiler computes nothing.

A function is lowered and compiled here for the shapes of its arrays alone, which takes no memory on the device. JAX
keeps the compiled program, and the later call with the arrays finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, Future

import jax

from loadstone.compiling import Call
from loadstone.problems.budget import Budget
from loadstone.runs.plan import batch_sizes
from loadstone.runs.spec import Spec


def compile_ahead(specs: Sequence[Spec], platform: str, budget: int | None, compilers: Executor) -> list[Future]:
    """Let `compilers` compile everything that `specs`, runs of one program with the largest first, will call. Returns a
    future for each function."""
    return [compilers.submit(_compile, *call) for call in calls(specs, platform, budget)]


def calls(specs: Sequence[Spec], platform: str, budget: int | None = None) -> Iterable[Call]:
    """The compiled functions that these runs call, in order."""
    size, together = (1, 1) if budget else batch_sizes(specs, platform)
    count = max(len(specs[:size]), together)
    return specs[0].task.programs(specs[0], count, Budget(budget) if budget else None)


def _compile(function: jax.stages.Wrapped, arguments: tuple) -> None:
    lowered = function.lower(*arguments)
    lowered.compile()
