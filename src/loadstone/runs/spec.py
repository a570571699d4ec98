"""A spec: the frozen, validated description of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from loadstone.arguments import choice, rank_fraction, refuse, set_as, whole
from loadstone.frequencies import Frequencies, check_answers
from loadstone.kernels.products import PRECISIONS
from loadstone.memories.families import check_family, family_in_records, is_linear
from loadstone.parameters import changed_parameters, made
from loadstone.problems.decoupled import STORED_DTYPES, WAYS_TO_HOLD, check_stored_answers
from loadstone.problems.instance import Instance
from loadstone.problems.kinds import check_kind, is_grouped
from loadstone.runs.record import key_of
from loadstone.solvers.registry import SOLVERS, solver_of
from loadstone.solvers.search import DEFAULT_PASSES
from loadstone.solvers.solver import Solver
from loadstone.solvers.stop import STOP_RULES
from loadstone.streams.laws.registry import check_law
from loadstone.streams.stream import Stream
from loadstone.tasks.approach import PassesNearCapacity
from loadstone.tasks.bits import Bits
from loadstone.tasks.edits import Edits
from loadstone.tasks.multi_start import MultiStart
from loadstone.tasks.space import Space

#: Instead of a solver: prove how many associations of the stream fit, looking around p first.
CAPACITY = "capacity"
#: Instead of a solver: find how many associations of the stream L-BFGS stores, looking around p first. Its parameters
#: say what is tried before a number counts as not stored, and by which solver (tasks/multi_start.py).
REACH = "reach"
#: Instead of a solver: prove how many fit, and count the passes that a solver takes at several distances below.
APPROACH = "approach"
#: Instead of a solver: find the memory of largest margin, prove its margin, and recall from noisy inputs.
MARGIN = "margin"
#: Instead of a solver: edit a memory that stores p associations, and count what is lost. Its parameters say how.
EDITS = "edits"
#: Instead of a solver: sample the memories that store p associations. Its parameters say how long.
SPACE = "space"
#: Instead of a solver: round a memory to a few bits an entry, and find up to which number it still stores everything.
BITS = "bits"
#: What is measured of a stream on the processor, instead of one search with a solver.
OF_STREAMS = (CAPACITY, REACH, APPROACH, MARGIN, EDITS, SPACE, BITS)

#: Increased when the same spec comes to mean other numbers (instances, training), so that old records are not reused.
_MEANING = 1
#: Records have always called the paper's protocol by this name and stated all its settings.
_PAPER_IN_RECORDS = "adam"

Parameters = tuple[tuple[str, object], ...]
Settings = TypeVar("Settings")


def _from_parameters(name: str, settings: type[Settings]) -> cached_property[Settings]:
    """A property of a spec whose solver has this name: its parameters as an object of the class that checks them."""
    return cached_property(lambda spec: made("solver", name, settings, dict(spec.parameters)))


@dataclass(frozen=True)
class Spec:
    """Which associations to store, and how. The same spec gives the same memory anywhere, to rounding.

    problem: 'original', 'decoupled' or 'groups:8' (problems/kinds.py).
    d, p, seed: dimension, number of associations, and the stream that they come from.
    kappa: rank fraction of the memory.
    law: of the embeddings.
    solver: a name in solvers/registry.py, 'capacity', 'reach', 'approach', 'margin', 'edits', 'space' or 'bits'.
    parameters: of the solver, or of what is measured instead; only those that differ from their defaults are kept.
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
        set_as(self, "d", whole("d", self.d, 1, 2**24))
        set_as(self, "p", whole("p", self.p, 2, 2**31 - 1))
        set_as(self, "seed", whole("seed", self.seed, 0, 2**64 - 1))
        set_as(self, "kappa", rank_fraction("kappa", self.kappa))
        set_as(self, "law", check_law(self.law))
        choice("stop", self.stop, STOP_RULES)
        choice("precision", self.precision, ("auto", *PRECISIONS))
        choice("hold", self.hold, WAYS_TO_HOLD)
        choice("stored_dtype", self.stored_dtype, STORED_DTYPES)
        choice("solver", self.solver, (*SOLVERS, *OF_STREAMS))
        answers, frequencies = check_answers(self.answers, self.frequencies)
        set_as(self, "answers", answers)
        set_as(self, "frequencies", frequencies)
        family, kappa = check_family(self.family, self.kappa, self.d)
        set_as(self, "family", family)
        set_as(self, "kappa", kappa)
        if self.solver in _FULL_ONLY and (self.kappa != 1 or self.family != "full"):
            what = _FULL_ONLY[self.solver]
            raise ValueError(f"kappa is {self.kappa} and family {self.family!r}, but must be 1 and full for {what}.")
        if self.solver == APPROACH and answers is not None:
            raise refuse("answers", answers, "None for an approach to the capacity, where each fact has its own")
        if self.solver == EDITS and self.problem != "original":
            raise refuse("problem", self.problem, "original for edits, which change what all facts share")
        if self.solver in _LINEAR_ONLY and (self.kappa != 1 or not is_linear(self.family)):
            what = f"1 and full or linear for {_LINEAR_ONLY[self.solver]}"
            raise ValueError(f"kappa is {self.kappa} and family {self.family!r}, but must be {what}.")
        # Runs that differ only in settings that they do not use are the same run.
        searched = self.solver in SOLVERS
        settings = None if self.solver in (CAPACITY, MARGIN) else self.settings
        set_as(self, "parameters", tuple(sorted(changed_parameters(settings).items())) if settings else ())
        if not self.is_iterative:
            set_as(self, "stop", "paper")
            set_as(self, "precision", "auto")
        if self.problem == "original" or not searched:
            set_as(self, "hold", "auto")
            set_as(self, "stored_dtype", "float32")
        if self.answers is not None:
            check_stored_answers(self.hold, self.stored_dtype)
        elif is_grouped(self.problem):
            check_stored_answers(self.hold, self.stored_dtype, "groups of inputs share outputs")

    @property
    def instance(self) -> Instance:
        """What is to be stored. Each has arrays of its own, which live as long as it does."""
        return Instance(Stream(self.seed, self.d, self.law), self.p, self.problem, self.answers, self.frequencies)

    @cached_property
    def made_solver(self) -> Solver:
        """The solver itself."""
        return solver_of(self.solver, dict(self.parameters))

    # What the parameters say, for each kind of measurement that has any.
    effort = _from_parameters(REACH, MultiStart)
    approach = _from_parameters(APPROACH, PassesNearCapacity)
    edits = _from_parameters(EDITS, Edits)
    space = _from_parameters(SPACE, Space)
    rounding = _from_parameters(BITS, Bits)

    @property
    def settings(self) -> Solver | MultiStart | PassesNearCapacity | Edits | Space | Bits:
        """What the parameters belong to."""
        measured = {REACH: "effort", APPROACH: "approach", EDITS: "edits", SPACE: "space", BITS: "rounding"}
        return getattr(self, measured.get(self.solver, "made_solver"))

    @cached_property
    def is_iterative(self) -> bool:
        """Whether the run is a search, pass after pass."""
        return self.solver in SOLVERS and not SOLVERS[self.solver].closed_form

    @cached_property
    def passes(self) -> int:
        """How many passes the run takes at most."""
        return (self.made_solver.schedule() or DEFAULT_PASSES) if self.is_iterative else 1

    def identity(self) -> dict[str, object]:
        """Everything that the result depends on, and nothing else; the key is its hash."""
        names = ("problem", "d", "p", "seed", "law", "kappa", "stored_dtype")
        found: dict[str, object] = {name: getattr(self, name) for name in names}
        found |= {"form": self.hold, "meaning": _MEANING, "solver": self.solver}
        if self.family != "full":
            found["family"] = family_in_records(self.family)  # as ever, because the key is made from it
        if self.answers is not None:
            found["answers"] = self.answers
        if self.frequencies != "uniform":
            found["frequencies"] = self.frequencies if isinstance(self.frequencies, str) else list(self.frequencies)
        if self.solver == "paper":
            searched = {"stop": self.stop, "precision": self.precision}
            return found | {"solver": _PAPER_IN_RECORDS, "protocol": vars(self.made_solver) | searched}
        # Defaults stay out, so that a parameter that is added later leaves all records valid.
        named = self.is_iterative or self.solver in (APPROACH, EDITS, SPACE, BITS)
        if named or (self.solver == REACH and self.parameters):
            found["solver"] = {"name": self.solver} | dict(self.parameters)
        if self.is_iterative:
            found |= {name: getattr(self, name) for name, unsaid in _UNSAID.items() if getattr(self, name) != unsaid}
        return found

    @classmethod
    def from_identity(cls, identity: Mapping[str, object]) -> Spec:
        """The spec whose `identity()` this is; refused if it is incomplete or from a version with another meaning."""
        try:
            given = dict(identity)
            given.pop("meaning", None)
            given["hold"] = given.pop("form", "auto")
            solver = given.get("solver")
            if solver == _PAPER_IN_RECORDS:
                protocol = dict(given.pop("protocol", {}))  # type: ignore[call-overload]
                given |= {name: protocol.pop(name) for name in ("stop", "precision")}
                given |= {"solver": "paper", "parameters": protocol}
            elif isinstance(solver, Mapping):
                given |= {"solver": solver["name"]}
                given["parameters"] = {name: value for name, value in solver.items() if name != "name"}
            spec = cls(**given)  # type: ignore[arg-type]
        except (TypeError, KeyError) as error:
            raise ValueError(f"{identity!r} does not describe a run: {error}.") from error
        if spec.identity() != dict(identity):
            raise ValueError(f"{identity!r} was written by a version of loadstone whose runs differ from this one's.")
        return spec

    @cached_property
    def without_seed(self) -> Spec:
        """What runs that differ only in their seed have in common."""
        return replace(self, seed=0)

    @cached_property
    def key(self) -> str:
        """The name of this run in a store."""
        return key_of(self.identity())

    def __str__(self) -> str:
        rank = "" if self.kappa == 1 else f", kappa = {self.kappa:g}"
        family = "" if self.family == "full" else f", {self.family}"
        answers = "" if self.answers is None else f", {self.answers} answers"
        solver = f"{self.solver} of {self.approach.optimiser}" if self.solver == APPROACH else self.solver
        if self.solver == EDITS:
            solver = f"{self.edits.edits} edits ({self.edits.action}) by {self.edits.method}"
        return f"{self.problem}, d = {self.d}, p = {self.p}{answers}{rank}{family}, {solver}, seed {self.seed}"


#: What needs a full memory, in words.
_FULL_ONLY = {
    "hebbian": "the Hebbian rule, whose matrix is",
    APPROACH: "an approach to the capacity",
    MARGIN: "a largest margin",
    EDITS: "edits",
    BITS: "rounding",
    "pruning": "pruning, which begins with all entries of W",
}
#: What needs a linear family, in words.
_LINEAR_ONLY = {
    CAPACITY: "an exact capacity, which is proved for linear families",
    SPACE: "sampling, which needs a linear family",
}
#: Defaults that do not enter the key.
_UNSAID = {"stop": "paper", "precision": "auto"}
