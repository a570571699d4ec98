"""loadstone: how many facts fit into a linear associative memory."""

from importlib import import_module

__version__ = "0.1.0"

#: The public names and where they live. They are imported on first use: the theory alone then starts without JAX.
_HOMES = {
    "measurements.accuracy": ("Measurement", "measure"),
    "measurements.scores": ("Scores", "SingleScores", "scores", "single_scores"),
    "measurements.spectrum": ("singular_values",),
    "memories.files": ("load_memory", "save_memory"),
    "memories.hebbian": ("hebbian",),
    "memories.memory": ("Factored", "Full", "Memory", "initial_memory", "recall_place"),
    "memories.solution": ("Solution", "Status"),
    "memories.training": ("Protocol", "train", "train_batch"),
    "problems.budget": ("Budget",),
    "problems.decoupled": ("decoupled",),
    "problems.facts": ("Facts", "facts"),
    "problems.instance": ("write_instance",),
    "problems.original": ("original",),
    "problems.problem": ("Problem",),
    "problems.recall": ("Recall",),
    "problems.stream": ("Stream",),
    "theory.capacity": ("HEBBIAN_CAPACITY", "capacity"),
    "theory.load": ("associations", "dimension", "load", "nearest_associations"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'loadstone' has no attribute {name!r}")
    return getattr(import_module(f"loadstone.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
