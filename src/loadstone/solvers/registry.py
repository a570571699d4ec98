"""Solvers by their names. A new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from loadstone.parameters import made, made_from_text, named
from loadstone.solvers.alternating import Alternating
from loadstone.solvers.gradient import OPTIMISERS, Paper, optimiser
from loadstone.solvers.hebbian import Hebbian, Initial
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.minibatch import Minibatch
from loadstone.solvers.normalised import Normalised
from loadstone.solvers.perceptron import Perceptron
from loadstone.solvers.pruning import Pruning
from loadstone.solvers.solver import Solver

SOLVERS: dict[str, type[Solver]] = {
    "lbfgs": LBFGS,
    "alternating": Alternating,
    "pruning": Pruning,
    "paper": Paper,
    "hebbian": Hebbian,
    "initial": Initial,
    "normalised": Normalised,
    "minibatch": Minibatch,
    "perceptron": Perceptron,
    **{name: optimiser(name) for name in OPTIMISERS},
}


def solver_of(text: str, parameters: Mapping[str, object] | None = None) -> Solver:
    """The solver of a name, with its parameters given separately or after a colon, as in 'sgd:0.1'."""
    if parameters:
        return made("solver", text, named("solver", text, SOLVERS), parameters)
    return made_from_text("solver", text, SOLVERS)


def parameter_names() -> tuple[str, ...]:
    """Every parameter of every solver."""
    return tuple(dict.fromkeys(field.name for kind in SOLVERS.values() for field in fields(kind)))  # type: ignore[arg-type]
