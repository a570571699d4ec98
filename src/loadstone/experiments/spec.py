"""A spec: the frozen, validated description of one run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from loadstone.arguments import choice, rank_fraction, set_as, whole
from loadstone.experiments.record import canonical
from loadstone.memories.memory import rank_of
from loadstone.problems.decoupled import FORMS, STORED_DTYPES
from loadstone.problems.embeddings import LAWS
from loadstone.solvers.gradient import Protocol

PROBLEMS = ("original", "decoupled")
#: 'initial' leaves the memory as training would find it; 'capacity' proves how many associations of the stream fit,
#: looking around p first.
SOLVERS = ("adam", "hebbian", "initial", "capacity")

#: Raised when the same spec comes to mean other numbers (instances, training), so that old records are not reused.
_MEANING = 1


@dataclass(frozen=True)
class Spec:
    """Which associations to store, and how. The same spec gives the same memory anywhere, to rounding."""

    problem: str
    d: int
    p: int
    seed: int = 0
    kappa: float = 1.0
    law: str = "gaussian"
    solver: str = "adam"
    protocol: Protocol = field(default_factory=Protocol)
    form: str = "auto"
    stored_dtype: str = "float32"

    def __post_init__(self) -> None:
        choice("problem", self.problem, PROBLEMS)
        set_as(self, "d", whole("d", self.d, 1, 2**24))
        set_as(self, "p", whole("p", self.p, 2, 2**31 - 1))
        set_as(self, "seed", whole("seed", self.seed, 0, 2**64 - 1))
        set_as(self, "kappa", rank_fraction("kappa", self.kappa))
        choice("law", self.law, LAWS)
        choice("solver", self.solver, SOLVERS)
        choice("form", self.form, FORMS)
        choice("stored_dtype", self.stored_dtype, STORED_DTYPES)
        if self.solver == "hebbian" and self.kappa != 1:
            raise ValueError(f"kappa is {self.kappa}, but must be 1 for the Hebbian rule, whose matrix has full rank.")
        if self.solver == "capacity" and self.kappa != 1:
            raise ValueError(f"kappa is {self.kappa}, but must be 1 for an exact capacity: verdicts are for full rank.")

        # What a run does not use must not tell it from another.
        if self.solver != "adam":
            set_as(self, "protocol", Protocol())
        if self.problem == "original" or self.solver == "capacity":
            set_as(self, "form", "auto")
            set_as(self, "stored_dtype", "float32")

    def identity(self) -> dict[str, object]:
        """Everything that the result depends on, and nothing else: what the key is made of."""
        own = {name: getattr(self, name) for name in ("problem", "d", "p", "seed", "law", "solver", "form")}
        own |= {"kappa": self.kappa, "stored_dtype": self.stored_dtype, "meaning": _MEANING}
        if self.solver == "adam":
            own["protocol"] = dict(vars(self.protocol))
        return own

    @classmethod
    def from_identity(cls, identity: Mapping[str, object]) -> Spec:
        """The spec whose `identity()` this is; refused if it belongs to another meaning or is not complete."""
        own = dict(identity)
        try:
            protocol = Protocol(**own.pop("protocol", {}))
            spec = cls(**{name: own[name] for name in own if name != "meaning"}, protocol=protocol)
        except TypeError as error:
            raise ValueError(f"{identity!r} does not describe a run: {error}.") from error
        if spec.identity() != dict(identity):
            raise ValueError(f"{identity!r} was written by a version of loadstone whose runs differ from this one's.")
        return spec

    @cached_property
    def shape(self) -> Spec:
        """What runs that share a compiled program have in common: everything but the seed."""
        return replace(self, seed=0)

    @cached_property
    def key(self) -> str:
        """The name of this run in a store."""
        return hashlib.sha256(canonical(self.identity()).encode()).hexdigest()

    def __str__(self) -> str:
        rank = "" if self.kappa == 1 else f", kappa = {self.kappa:g}"
        return f"{self.problem}, d = {self.d}, p = {self.p}{rank}, {self.solver}, seed {self.seed}"

    def about(self) -> dict[str, object]:
        """The words and numbers that identify the run."""
        return {
            "problem": self.problem, "p": self.p, "d": self.d, "kappa": self.kappa, "rank": rank_of(self.kappa, self.d),
            "law": self.law, "seed": self.seed, "solver": self.solver,
            "stop": self.protocol.stop if self.solver == "adam" else "none",
        }  # fmt: skip
