"""loadstone: how many facts fit into a linear associative memory."""

from importlib import import_module

__version__ = "0.2.0"

#: The public names and their modules. A module is imported on first use, so that the theory alone starts without JAX.
_HOMES = {
    "books.book": ("Book", "open_book"),
    "books.storing": ("remember",),
    "measurements.accuracy": ("Measurement", "measure"),
    "measurements.noise": ("NoisyAccuracy", "measured_noisy_accuracy", "predicted_noisy_accuracy"),
    "measurements.scores": ("Scores", "SingleScores", "scores", "single_scores"),
    "measurements.spectrum": ("singular_values",),
    "tasks.capacity": ("InstanceCapacity", "instance_capacity"),
    "proofs.certificate": ("Check", "check_proof", "write_proof"),
    "memories.files": ("load_memory", "save_memory"),
    "solvers.hebbian": ("hebbian",),
    "memories.families": ("initial_memory", "subspace_of"),
    "memories.full": ("Full",),
    "memories.low_rank": ("LowRank",),
    "memories.foreign": ("memory",),
    "memories.memory": ("Memory",),
    "memories.projected": ("Projected",),
    "memories.recall": ("recall_index",),
    "memories.subspaces.given": ("Given",),
    "memories.subspaces.masked": ("Masked",),
    "memories.subspaces.subspace": ("Subspace",),
    "solvers.conflict": ("Conflict", "conflict_in"),
    "solvers.decide": ("ProofLimits", "decide"),
    "solvers.margin": ("MaximumMargin", "maximum_margin"),
    "solvers.solution": ("Solution", "Status"),
    "solvers.gradient": ("Paper",),
    "solvers.solve": ("solve", "solve_batch", "train"),
    "solvers.solver": ("Iterative", "Solver"),
    "solvers.stop": ("Limits",),
    "proofs.verdict": ("Outcome", "Verdict"),
    "problems.arrays": ("Arrays",),
    "problems.budget": ("Budget",),
    "problems.decoupled": ("decoupled",),
    "problems.facts": ("Facts", "facts"),
    "problems.grouped": ("grouped",),
    "problems.instance": ("Instance", "write_instance"),
    "problems.instance_files": ("read_instance",),
    "problems.listwise": ("listwise",),
    "problems.loss": ("mean_loss",),
    "problems.original": ("original",),
    "problems.padded": ("padded",),
    "problems.problem": ("Problem",),
    "kernels.recall": ("Recall",),
    "problems.spread": ("Spread", "spread"),
    "problems.spread_streams": ("spread_decoupled", "spread_original"),
    "streams.stream": ("Stream",),
    "space.sample": ("Sampled", "sample"),
    "theory.answers": ("facts_capacity", "memories_seen"),
    "theory.capacity": (
        "HEBBIAN_CAPACITY",
        "asymptotic_capacity_associations",
        "bits_per_parameter",
        "capacity",
        "capacity_associations",
        "finite_capacity",
        "hebbian_associations",
    ),
    "theory.codimension": ("codimension", "margin_codimension"),
    "theory.families": ("StatisticalDimension", "statistical_dimension"),
    "theory.finite_margin": ("finite_largest_margin",),
    "theory.listwise": ("list_capacity", "list_codimension"),
    "theory.load": ("associations", "dimension", "load", "nearest_associations", "nearest_dimension"),
    "theory.margin": ("largest_margin", "margin_capacity"),
    "theory.minimiser": ("Minimiser", "minimiser"),
    "theory.prediction": ("FactsPrediction", "Prediction", "predict", "predict_facts"),
    "theory.skew": ("random_target_capacity", "skewed_capacity"),
    "theory.spectra": ("Spectrum", "at_capacity", "initial_factored", "initial_full", "quarter_circle"),
    "theory.storable": ("facts_interval", "probability_facts_storable", "probability_storable", "storable_interval"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'loadstone' has no attribute {name!r}")
    return getattr(import_module(f"loadstone.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
