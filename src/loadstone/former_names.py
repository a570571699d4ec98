"""Names that stood at the top of the package in version 0.1 and 0.2: where each is now.

They work for one release more, and say where they went (`loadstone.__getattr__`). `loadstone.load` opens a file now;
the load p log p / d^2 is `loadstone.theory.load.load`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loadstone.streams.stream import Stream
    from loadstone.tasks.capacity import InstanceCapacity

FORMER: dict[str, str] = {
    "Arrays": "loadstone.problems.arrays.Arrays",
    "Budget": "loadstone.problems.budget.Budget",
    "Check": "loadstone.proofs.certificate.Check",
    "Conflict": "loadstone.solvers.conflict.Conflict",
    "Facts": "loadstone.problems.facts.Facts",
    "FactsPrediction": "loadstone.theory.prediction.Prediction",
    "Full": "loadstone.memories.full.Full",
    "Given": "loadstone.memories.subspaces.given.Given",
    "HEBBIAN_CAPACITY": "loadstone.theory.capacity.HEBBIAN_CAPACITY",
    "InstanceCapacity": "loadstone.tasks.capacity.InstanceCapacity",
    "Iterative": "loadstone.solvers.solver.Iterative",
    "LowRank": "loadstone.memories.low_rank.LowRank",
    "Masked": "loadstone.memories.subspaces.masked.Masked",
    "MaximumMargin": "loadstone.solvers.margin.MaximumMargin",
    "Minimiser": "loadstone.theory.minimiser.Minimiser",
    "NoisyAccuracy": "loadstone.measurements.noise.NoisyAccuracy",
    "Outcome": "loadstone.proofs.verdict.Outcome",
    "Paper": "loadstone.solvers.gradient.Paper",
    "Projected": "loadstone.memories.projected.Projected",
    "ProofLimits": "loadstone.solvers.decide.ProofLimits",
    "Recall": "loadstone.kernels.recall.Recall",
    "Scores": "loadstone.measurements.scores.Scores",
    "SingleScores": "loadstone.measurements.scores.SingleScores",
    "Solver": "loadstone.solvers.solver.Solver",
    "Spectrum": "loadstone.theory.spectra.Spectrum",
    "Spread": "loadstone.problems.spread.Spread",
    "StatisticalDimension": "loadstone.theory.families.StatisticalDimension",
    "Status": "loadstone.solvers.solution.Status",
    "Subspace": "loadstone.memories.subspaces.subspace.Subspace",
    "associations": "loadstone.theory.load.associations",
    "asymptotic_capacity_associations": "loadstone.theory.capacity.asymptotic_capacity_associations",
    "at_capacity": "loadstone.theory.spectra.at_capacity",
    "bits_per_parameter": "loadstone.theory.capacity.bits_per_parameter",
    "capacity": "loadstone.theory.capacity.capacity",
    "capacity_associations": "loadstone.theory.capacity.capacity_associations",
    "check_proof": "loadstone.proofs.certificate.check_proof",
    "codimension": "loadstone.theory.codimension.codimension",
    "conflict_in": "loadstone.solvers.conflict.conflict_in",
    "dimension": "loadstone.theory.load.dimension",
    "facts_capacity": "loadstone.theory.answers.facts_capacity",
    "facts_interval": "loadstone.theory.storable.facts_interval",
    "finite_capacity": "loadstone.theory.capacity.finite_capacity",
    "finite_largest_margin": "loadstone.theory.finite_margin.finite_largest_margin",
    "grouped": "loadstone.problems.grouped.grouped",
    "hebbian": "loadstone.solvers.hebbian.hebbian",
    "hebbian_associations": "loadstone.theory.capacity.hebbian_associations",
    "initial_factored": "loadstone.theory.spectra.initial_factored",
    "initial_full": "loadstone.theory.spectra.initial_full",
    "instance_capacity": "loadstone.tasks.capacity.exact_capacity",
    "largest_margin": "loadstone.theory.margin.largest_margin",
    "list_capacity": "loadstone.theory.listwise.list_capacity",
    "list_codimension": "loadstone.theory.listwise.list_codimension",
    "listwise": "loadstone.problems.listwise.listwise",
    "load_memory": "loadstone.memories.files.load_memory",
    "margin_capacity": "loadstone.theory.margin.margin_capacity",
    "margin_codimension": "loadstone.theory.codimension.margin_codimension",
    "mean_loss": "loadstone.problems.loss.mean_loss",
    "measured_noisy_accuracy": "loadstone.measurements.noise.measured_noisy_accuracy",
    "memories_seen": "loadstone.theory.answers.memories_seen",
    "minimiser": "loadstone.theory.minimiser.minimiser",
    "nearest_associations": "loadstone.theory.load.nearest_associations",
    "nearest_dimension": "loadstone.theory.load.nearest_dimension",
    "open_book": "loadstone.books.book.open_book",
    "padded": "loadstone.problems.padded.padded",
    "predict_facts": "loadstone.theory.prediction.predict_facts",
    "predicted_noisy_accuracy": "loadstone.measurements.noise.predicted_noisy_accuracy",
    "probability_facts_storable": "loadstone.theory.storable.probability_facts_storable",
    "probability_storable": "loadstone.theory.storable.probability_storable",
    "quarter_circle": "loadstone.theory.spectra.quarter_circle",
    "random_target_capacity": "loadstone.theory.skew.random_target_capacity",
    "read_instance": "loadstone.problems.instance_files.read_instance",
    "recall_index": "loadstone.memories.recall.recall_index",
    "save_memory": "loadstone.memories.files.save_memory",
    "scores": "loadstone.measurements.scores.scores",
    "single_scores": "loadstone.measurements.scores.single_scores",
    "singular_values": "loadstone.measurements.spectrum.singular_values",
    "skewed_capacity": "loadstone.theory.skew.skewed_capacity",
    "solve": "loadstone.solvers.solve.solve",
    "solve_batch": "loadstone.solvers.solve.solve_batch",
    "spread": "loadstone.problems.spread.spread",
    "spread_decoupled": "loadstone.problems.spread_streams.spread_decoupled",
    "spread_original": "loadstone.problems.spread_streams.spread_original",
    "statistical_dimension": "loadstone.theory.families.statistical_dimension",
    "storable_interval": "loadstone.theory.storable.storable_interval",
    "subspace_of": "loadstone.memories.families.subspace_of",
    "write_instance": "loadstone.problems.instance.write_instance",
    "write_proof": "loadstone.proofs.certificate.write_proof",
}


def instance_capacity(
    kind: str,
    stream: Stream,
    *,
    around: int | None = None,
    answers: int | None = None,
    frequencies: Any = "uniform",
    **options: Any,
) -> InstanceCapacity:
    """`exact_capacity` of the instance that these arguments describe."""
    from loadstone.arguments import whole
    from loadstone.problems.instance import Instance
    from loadstone.tasks.capacity import exact_capacity

    p = max(2, stream.d if around is None else whole("around", around, 1))
    return exact_capacity(Instance(stream, p, kind=kind, answers=answers, frequencies=frequencies), **options)


#: Functions that take other arguments now, as they were.
FORMER_SIGNATURES: dict[str, Callable[..., Any]] = {"instance_capacity": instance_capacity}
