"""Sweeps by name."""

from __future__ import annotations

from loadstone.experiments.spec import Spec
from loadstone.experiments.storable import CapacitySpec
from loadstone.memories.training import Protocol
from loadstone.theory.capacity import capacity_associations
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


_STORABLE_DIMENSIONS = (12, 20, 30)
#: Sizes at which Adam is tried, as shares of the predicted capacity.
_TRIED = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


def capacity_sweep(streams: int) -> list[CapacitySpec]:
    """Exact capacities at d = 12, 20 and 30, both problems."""
    return [
        CapacitySpec(problem, d, streams, round(float(capacity_associations(d))))
        for d in _STORABLE_DIMENSIONS
        for problem in ("original", "decoupled")
    ]


def training_beside_verdicts(seeds: int) -> list[Spec]:
    """The paper's protocol at the sizes of `capacity_sweep`, run until every association is stored."""
    protocol = Protocol(stop="exact")
    return [
        Spec("original", d, round(share * float(capacity_associations(d))), seed, protocol=protocol)
        for d in _STORABLE_DIMENSIONS
        for share in _TRIED
        for seed in range(seeds)
    ]
