"""A task: what a run does, from the spec that asks for it to the result that its record holds.

A new task is a file with a subclass of `Task` or of `OneAtATime`, a line in `TASKS` (tasks/__init__.py), and its fields
in tasks/fields.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from loadstone.compiling import Call
from loadstone.deadline import Deadline
from loadstone.memories.families import is_linear
from loadstone.parameters import made
from loadstone.problems.budget import Budget
from loadstone.tasks.values import Field

if TYPE_CHECKING:
    from loadstone.tasks.checked_spec import CheckedSpec


class Result(NamedTuple):
    """The result of a run.

    fields: the `fields` of its task for the record, as JSON holds them.
    seconds: how long it took.
    """

    fields: dict[str, object]
    seconds: float


class Task(ABC):
    """What a run does. A task has no state: everything that it needs is in the spec that asks for it."""

    #: The class of its parameters, whose fields a grid may vary; None: it has none.
    settings: type | None = None
    #: The fields of its record, and which values each may have (tasks/fields.py).
    fields: Mapping[str, Field]
    #: Whether nothing else runs at the same time, because Ctrl-C would wait for it.
    runs_alone = True

    def made(self, solver: str, parameters: Mapping[str, object]) -> Any:
        """The settings with these parameters; None if the task has none."""
        return None if self.settings is None else made("solver", solver, self.settings, parameters)

    def check(self, spec: CheckedSpec) -> None:  # noqa: B027 (most tasks can do everything)
        """Refuse what this task cannot do."""

    def words(self, spec: CheckedSpec) -> str:
        """What is done, in words for the user."""
        return spec.solver

    @abstractmethod
    def cost(self, spec: CheckedSpec, platform: str) -> float:
        """Rough seconds of a run on a 'cpu' or on an accelerator."""

    def rows(self, spec: CheckedSpec, platform: str) -> int | None:
        """To how many rows its arrays are padded; None: they are not, or by rules of the task, as in a bisection."""
        return None

    def batch_size(self, spec: CheckedSpec, platform: str) -> int:
        """How many runs of one program are done together, if this one is the largest of them."""
        return 1

    def programs(self, spec: CheckedSpec, count: int, budget: Budget | None) -> Iterable[Call]:
        """The compiled functions that `count` such runs together call, in order, so that they can be compiled ahead."""
        return ()

    @abstractmethod
    def run(
        self, specs: Sequence[CheckedSpec], budget: Budget | None = None, together: int = 1
    ) -> list[Callable[[], Result]]:
        """Do the part of these runs that needs the accelerator. Returns a function for each that finishes it on the
        CPU, which may be called while the next ones run.

        specs: those of runs that share one program.
        together: a smaller batch is filled up to this size.
        """


class OneAtATime(Task):
    """A task whose runs are done one after the other, each from beginning to end."""

    @abstractmethod
    def result(self, spec: CheckedSpec, budget: Budget | None) -> dict[str, object]:
        """Do a run, and return the fields of its record."""

    def run(
        self, specs: Sequence[CheckedSpec], budget: Budget | None = None, together: int = 1
    ) -> list[Callable[[], Result]]:
        results: list[Callable[[], Result]] = []
        for spec in specs:
            clock = Deadline()
            results.append(partial(Result, self.result(spec, budget), clock.taken))
        return results


def require_full(spec: CheckedSpec, what: str) -> None:
    """Refuse every memory but a full W."""
    if spec.kappa != 1 or spec.family != "full":
        raise ValueError(f"kappa is {spec.kappa} and family {spec.family!r}, but must be 1 and full for {what}.")


def require_linear(spec: CheckedSpec, what: str) -> None:
    """Refuse every memory but those of a linear family."""
    if spec.kappa != 1 or not is_linear(spec.family):
        refused = f"kappa is {spec.kappa} and family {spec.family!r}"
        raise ValueError(f"{refused}, but must be 1 and full or linear for {what}.")


def numbers(values: Iterable[Any]) -> list[float]:
    """The numbers of an array as JSON holds them."""
    return [float(value) for value in np.asarray(values)]
