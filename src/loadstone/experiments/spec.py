"""A spec: the frozen, validated description of one run."""

from __future__ import annotations

from dataclasses import dataclass, field

from loadstone.arguments import choice, rank_fraction, whole
from loadstone.memories.memory import rank_of
from loadstone.memories.training import Protocol
from loadstone.problems.decoupled import FORMS, STORED_DTYPES
from loadstone.problems.embeddings import LAWS

PROBLEMS = ("original", "decoupled")
SOLVERS = ("adam", "hebbian")


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
        whole("d", self.d, 1)
        whole("p", self.p, 2)
        whole("seed", self.seed, 0, 2**64 - 1)
        rank_fraction("kappa", self.kappa)
        choice("law", self.law, LAWS)
        choice("solver", self.solver, SOLVERS)
        choice("form", self.form, FORMS)
        choice("stored_dtype", self.stored_dtype, STORED_DTYPES)
        if self.solver == "hebbian" and self.kappa != 1:
            raise ValueError(f"kappa is {self.kappa}, but must be 1 for the Hebbian rule, whose matrix has full rank.")

    def about(self) -> dict[str, object]:
        """The words and numbers that identify the run."""
        return {
            "problem": self.problem, "p": self.p, "d": self.d, "kappa": self.kappa, "rank": rank_of(self.kappa, self.d),
            "law": self.law, "seed": self.seed, "solver": self.solver,
            "stop": self.protocol.stop if self.solver == "adam" else "none",
        }  # fmt: skip
