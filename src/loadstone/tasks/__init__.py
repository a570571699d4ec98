"""Tasks: what a run does. Each is a file of its own and a line here, and is imported when a run asks for it."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadstone.tasks.task import Task

#: The tasks that a spec may name instead of a solver, and where they are.
TASKS = {
    "capacity": "loadstone.tasks.capacity:CAPACITY",
    "reach": "loadstone.tasks.reach:REACH",
    "approach": "loadstone.tasks.approach:APPROACH",
    "margin": "loadstone.tasks.margin:MARGIN",
    "edits": "loadstone.tasks.edits:EDITS",
    "space": "loadstone.tasks.space:SPACE",
    "bits": "loadstone.tasks.bits:BITS",
}
#: The task of every spec that names a solver: to train with it.
_TRAIN = "loadstone.tasks.train:TRAIN"


@cache
def task_of(solver: str) -> Task:
    """The task that the `solver` of a spec names, or the task of training if it names a solver."""
    module, _, name = TASKS.get(solver, _TRAIN).partition(":")
    return getattr(import_module(module), name)
