"""Tasks: what a run does. One file and one line each; a task is imported when a run asks for it."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadstone.tasks.task import Task

#: What a spec may name instead of a solver, and where it is.
TASKS = {
    "capacity": "loadstone.tasks.capacity:CAPACITY",
    "reach": "loadstone.tasks.reach:REACH",
    "approach": "loadstone.tasks.approach:APPROACH",
    "margin": "loadstone.tasks.margin:MARGIN",
    "edits": "loadstone.tasks.edits:EDITS",
    "space": "loadstone.tasks.space:SPACE",
    "bits": "loadstone.tasks.bits:BITS",
}
#: The task of every spec that names a solver: one search with it.
_TRAIN = "loadstone.tasks.train:TRAIN"


@cache
def task_of(solver: str) -> Task:
    """The task that a spec means by its `solver`: the task of that name, or to train with the solver."""
    module, _, name = TASKS.get(solver, _TRAIN).partition(":")
    return getattr(import_module(module), name)
