"""Names that were at the top of the package in versions 0.1 and 0.2, and where each is now.

They work for one more release, with a warning (`loadstone.__getattr__`). `loadstone.load` opens a file now;
the load p log p / d^2 is `loadstone.theory.load.load`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loadstone.frequencies import Frequencies
    from loadstone.memories.subspaces.subspace import Subspace
    from loadstone.proofs.verdict import Verdict
    from loadstone.solvers.decide import ProofLimits
    from loadstone.streams.stream import Stream
    from loadstone.tasks.capacity import InstanceCapacity

_IN_MODULES = {
    "books.book": "open_book",
    "kernels.recall": "Recall",
    "measurements.noise": "NoisyAccuracy measured_noisy_accuracy predicted_noisy_accuracy",
    "measurements.scores": "Scores SingleScores scores single_scores",
    "measurements.spectrum": "singular_values",
    "memories.families": "subspace_of",
    "memories.files": "load_memory save_memory",
    "memories.full": "Full",
    "memories.low_rank": "LowRank",
    "memories.projected": "Projected",
    "memories.recall": "recall_index",
    "memories.subspaces.given": "Given",
    "memories.subspaces.masked": "Masked",
    "memories.subspaces.subspace": "Subspace",
    "problems.arrays": "Arrays",
    "problems.budget": "Budget",
    "problems.facts": "Facts",
    "problems.grouped": "grouped",
    "problems.instance": "write_instance",
    "problems.instance_files": "read_instance",
    "problems.listwise": "listwise",
    "problems.loss": "mean_loss",
    "problems.padded": "padded",
    "problems.spread": "Spread spread",
    "problems.spread_streams": "spread_decoupled spread_original",
    "proofs.certificate": "Check check_proof write_proof",
    "proofs.verdict": "Outcome",
    "solvers.conflict": "Conflict conflict_in",
    "solvers.decide": "ProofLimits",
    "solvers.gradient": "Paper",
    "solvers.hebbian": "hebbian",
    "solvers.margin": "MaximumMargin",
    "solvers.solution": "Status",
    "solvers.solve": "solve solve_batch",
    "solvers.solver": "Iterative Solver",
    "tasks.capacity": "InstanceCapacity",
    "theory.answers": "facts_capacity memories_seen",
    "theory.capacity": (
        "HEBBIAN_CAPACITY asymptotic_capacity_associations bits_per_parameter capacity capacity_associations "
        "finite_capacity hebbian_associations"
    ),
    "theory.codimension": "codimension margin_codimension",
    "theory.families": "StatisticalDimension statistical_dimension",
    "theory.finite_margin": "finite_largest_margin",
    "theory.listwise": "list_capacity list_codimension",
    "theory.load": "associations dimension nearest_associations nearest_dimension",
    "theory.margin": "largest_margin margin_capacity",
    "theory.minimiser": "Minimiser minimiser",
    "theory.prediction": "predict_facts",
    "theory.skew": "random_target_capacity skewed_capacity",
    "theory.spectra": "Spectrum at_capacity initial_factored initial_full quarter_circle",
    "theory.storable": "facts_interval probability_facts_storable probability_storable storable_interval",
}

FORMER = {name: f"loadstone.{module}.{name}" for module, names in _IN_MODULES.items() for name in names.split()}
FORMER["FactsPrediction"] = "loadstone.theory.prediction.Prediction"
FORMER["instance_capacity"] = "loadstone.tasks.capacity.exact_capacity"


def former(name: str) -> Any:
    """What a former name stands for; functions still take all their arguments by position, too."""
    if name == "instance_capacity":
        return instance_capacity
    module, _, original = FORMER[name].rpartition(".")
    value = getattr(import_module(module), original)
    return _by_position(value) if inspect.isfunction(value) else value


def _by_position(function: Callable[..., Any]) -> Callable[..., Any]:
    parameters = inspect.signature(function).parameters
    if all(parameter.kind != parameter.KEYWORD_ONLY for parameter in parameters.values()):
        return function

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        return function(**dict(zip(parameters, given)), **named)

    return call


def instance_capacity(
    kind: str,
    stream: Stream,
    around: int | None = None,
    limits: ProofLimits | None = None,
    progress: Callable[[int, Verdict], None] | None = None,
    answers: int | None = None,
    frequencies: Frequencies = "uniform",
    family: str | Subspace = "full",
) -> InstanceCapacity:
    """`exact_capacity` of the instance that these arguments describe."""
    from loadstone.arguments import whole
    from loadstone.problems.instance import Instance
    from loadstone.solvers.decide import DEFAULT_LIMITS
    from loadstone.tasks.capacity import exact_capacity

    p = max(2, stream.d if around is None else whole("around", around, 1))
    instance = Instance(stream, p, kind=kind, answers=answers, frequencies=frequencies)
    return exact_capacity(instance, limits or DEFAULT_LIMITS, progress=progress, family=family)
