"""The spec of a run: which associations to store, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from loadstone.arguments import choice, rank_fraction, set_as, whole
from loadstone.frequencies import Frequencies, check_answers
from loadstone.kernels.products import PRECISIONS
from loadstone.memories.families import check_family
from loadstone.parameters import changed_parameters
from loadstone.problems.decoupled import STORED_DTYPES, WAYS_TO_HOLD, check_stored_answers
from loadstone.problems.instance import Instance
from loadstone.problems.kinds import check_kind, is_grouped
from loadstone.solvers.registry import SOLVERS
from loadstone.solvers.search import DEFAULT_PASSES
from loadstone.solvers.stop import STOP_RULES
from loadstone.streams.laws.registry import check_law
from loadstone.streams.stream import Stream
from loadstone.tasks import TASKS, task_of
from loadstone.tasks.task import Task

#: No stream has more dimensions.
MOST_DIMENSION = 2**24

Parameters = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class CheckedSpec:
    """The checked spec of a run. Fields that it does not use have their defaults, so that equal runs have equal specs.

    problem: 'original', 'decoupled' or 'groups:8' (problems/kinds.py).
    d, p, seed: dimension, number of associations, and the stream that they come from.
    kappa: rank fraction of the memory.
    law: the law of the embeddings.
    solver: a name in solvers/registry.py, to train with it, or that of another task (tasks/__init__.py). 'paper' is the
        paper's protocol, which records call 'adam' (tasks/fields.py).
    parameters: of the solver or of the task; only those that differ from their defaults are kept.
    stop, precision: the stop rule, and the precision of the products.
    family: a name in memories/families.py, with its parameters, as in 'blocks:8'.
    hold: whether decoupled outputs are stored or regenerated.
    stored_dtype: number type of stored decoupled outputs.
    answers: how many outputs there are; None: as many as inputs, and input mu has output mu as its target.
    frequencies: how often each answer is a target (frequencies.py).
    """

    problem: str
    d: int
    p: int
    seed: int = 0
    kappa: float = 1.0
    law: str = "gaussian"
    solver: str = "paper"
    parameters: Parameters | Mapping[str, object] = ()
    stop: str = "paper"
    precision: str = "auto"
    family: str = "full"
    hold: str = "auto"
    stored_dtype: str = "float32"
    answers: int | None = None
    frequencies: Frequencies = "uniform"

    def __post_init__(self) -> None:
        set_as(self, "problem", check_kind(self.problem))
        set_as(self, "d", whole("d", self.d, 1, MOST_DIMENSION))
        set_as(self, "p", whole("p", self.p, 2, 2**31 - 1))
        set_as(self, "seed", whole("seed", self.seed, 0, 2**64 - 1))
        set_as(self, "kappa", rank_fraction("kappa", self.kappa))
        set_as(self, "law", check_law(self.law))
        choice("stop", self.stop, STOP_RULES)
        choice("precision", self.precision, ("auto", *PRECISIONS))
        choice("hold", self.hold, WAYS_TO_HOLD)
        choice("stored_dtype", self.stored_dtype, STORED_DTYPES)
        choice("solver", self.solver, (*SOLVERS, *TASKS))
        answers, frequencies = check_answers(self.answers, self.frequencies)
        set_as(self, "answers", answers)
        set_as(self, "frequencies", frequencies)
        family, kappa = check_family(self.family, self.kappa, self.d)
        set_as(self, "family", family)
        set_as(self, "kappa", kappa)
        self.task.check(self)
        changed = {} if self.settings is None else changed_parameters(self.settings)
        set_as(self, "parameters", tuple(sorted(changed.items())))
        if not self.is_iterative:
            set_as(self, "stop", "paper")
            set_as(self, "precision", "auto")
        if self.problem == "original" or self.solver in TASKS:
            set_as(self, "hold", "auto")
            set_as(self, "stored_dtype", "float32")
        if self.answers is not None:
            check_stored_answers(self.hold, self.stored_dtype)
        elif is_grouped(self.problem):
            check_stored_answers(self.hold, self.stored_dtype, "groups of inputs share outputs")

    @property
    def instance(self) -> Instance:
        """The instance to store. Each call makes a new one, whose arrays live as long as it does."""
        stream = Stream(self.seed, self.d, law=self.law)
        return Instance(stream, self.p, kind=self.problem, answers=self.answers, frequencies=self.frequencies)

    @property
    def task(self) -> Task:
        """What the run does."""
        return task_of(self.solver)

    @cached_property
    def settings(self) -> Any:
        """The solver with its parameters, or the settings of another task; None if it has none."""
        return self.task.made(self.solver, dict(self.parameters))

    @cached_property
    def is_iterative(self) -> bool:
        """Whether the run is a search by passes."""
        return self.solver in SOLVERS and not SOLVERS[self.solver].closed_form

    @cached_property
    def passes(self) -> int:
        """How many passes the run takes at most."""
        return (self.settings.schedule() or DEFAULT_PASSES) if self.is_iterative else 1

    def __str__(self) -> str:
        rank = "" if self.kappa == 1 else f", kappa = {self.kappa:g}"
        family = "" if self.family == "full" else f", {self.family}"
        answers = "" if self.answers is None else f", {self.answers} answers"
        task = self.task.words(self)
        return f"{self.problem}, d = {self.d}, p = {self.p}{answers}{rank}{family}, {task}, seed {self.seed}"
