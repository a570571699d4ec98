"""Sweeps by name."""

from __future__ import annotations

from loadstone.experiments.spec import Spec
from loadstone.theory.load import nearest_associations

_TRAINED_LOADS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2)
_HEBBIAN_LOADS = (0.03, 0.06, 0.09, 0.12, 0.2, 0.3, 0.45, 0.6, 0.9, 1.2)


def accuracy_sweep(seeds: int) -> list[Spec]:
    """Accuracy against load at d = 20 and 40: both problems, kappa = 0.5 and 1, and the Hebbian rule at kappa = 1."""
    trained = [
        Spec(problem, d, nearest_associations(load, d), seed, kappa)
        for problem in ("original", "decoupled")
        for d in (20, 40)
        for kappa in (0.5, 1.0)
        for load in _TRAINED_LOADS
        for seed in range(seeds)
    ]
    hebbian = [
        Spec("original", d, nearest_associations(load, d), seed, solver="hebbian")
        for d in (20, 40)
        for load in _HEBBIAN_LOADS
        for seed in range(seeds)
    ]
    return trained + hebbian
