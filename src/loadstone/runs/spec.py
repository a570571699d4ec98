"""A spec: the frozen, validated description of one run, and its identity in records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from loadstone.memories.families import family_in_records
from loadstone.runs.record import key_of
from loadstone.tasks.checked_spec import CheckedSpec
from loadstone.tasks.fields import PROTOCOL

#: Increased when the same spec comes to mean other numbers (instances, training), so that old records are not reused.
_MEANING = 1
#: Tasks that records name in a table with the parameters, even if all of these have their defaults.
_ALWAYS_TABLES = ("approach", "edits", "space", "bits")
#: Defaults that do not enter the key.
_UNSAID = {"stop": "paper", "precision": "auto"}


@dataclass(frozen=True)
class Spec(CheckedSpec):
    """The description of a run (tasks/asked.py), with its name in a store. The same spec gives the same memory
    anywhere, to rounding."""

    def identity(self) -> dict[str, object]:
        """Everything that the result depends on, and nothing else; the key is its hash."""
        names = ("problem", "d", "p", "seed", "law", "kappa", "stored_dtype")
        identity: dict[str, object] = {name: getattr(self, name) for name in names}
        identity |= {"form": self.hold, "meaning": _MEANING, "solver": self.solver}
        if self.family != "full":
            identity["family"] = family_in_records(self.family)  # never changed, because the key is made from it
        if self.answers is not None:
            identity["answers"] = self.answers
        if self.frequencies != "uniform":
            identity["frequencies"] = self.frequencies if isinstance(self.frequencies, str) else list(self.frequencies)
        if self.solver == "paper":
            searched = {"stop": self.stop, "precision": self.precision}
            return identity | {"solver": PROTOCOL, "protocol": vars(self.settings) | searched}
        # Defaults stay out, so that a parameter that is added later leaves all records valid.
        if self.is_iterative or self.parameters or self.solver in _ALWAYS_TABLES:
            identity["solver"] = {"name": self.solver} | dict(self.parameters)
        if self.is_iterative:
            identity |= {name: getattr(self, name) for name, usual in _UNSAID.items() if getattr(self, name) != usual}
        return identity

    @classmethod
    def from_identity(cls, identity: Mapping[str, object]) -> Spec:
        """The spec whose `identity()` this is; refused if it is incomplete or from a version with another meaning."""
        try:
            given = dict(identity)
            given.pop("meaning", None)
            given["hold"] = given.pop("form", "auto")
            solver = given.get("solver")
            if solver == PROTOCOL:
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
        """The same spec with seed 0: equal for runs that differ only in their seed."""
        return replace(self, seed=0)

    @cached_property
    def key(self) -> str:
        """The name of this run in a store."""
        return key_of(self.identity())
