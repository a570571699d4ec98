"""From a run to its record: scalars, traces, singular values and histograms of scores; how it was run beside them."""

from __future__ import annotations

import platform

import jax
import numpy as np

import loadstone
from loadstone.experiments.record import Record
from loadstone.experiments.run import Run, problem_of
from loadstone.measurements.scores import scores
from loadstone.measurements.spectrum import singular_values
from loadstone.memories.solution import Status
from loadstone.problems.budget import Budget


def record_of(run: Run, budget: Budget | None = None) -> Record:
    """Everything that figures need of a run, without its memory. A diverged run has its scalars and traces only."""
    result = {name: value for name, value in run.outcome().items() if name not in ("seed", "seconds")}
    result |= {"form": run.form, "loss_trace": _numbers(run.loss_trace), "accuracy_trace": _numbers(run.accuracy_trace)}
    if run.status != Status.DIVERGED:
        result |= {"singular_values": _numbers(singular_values(run.memory)), "scores": _histograms(run, budget)}
    circumstances = {
        "seconds": run.seconds,
        "loadstone": loadstone.__version__,
        "jax": jax.__version__,
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
        "machine": platform.machine(),
    }
    return Record(run.spec.key, run.spec.identity(), result, circumstances)


def _histograms(run: Run, budget: Budget | None) -> dict[str, object]:
    """Counts of scores on one set of bins, in units of the deviation of non-target scores."""
    found = scores(problem_of(run.spec, budget), run.memory)
    low, high = float(found.edges[0]), float(found.edges[-1])
    inside = lambda values: np.histogram(np.clip(values, low, high), found.edges)[0].tolist()  # noqa: E731
    return {
        "low": low,
        "high": high,
        "unit": float(found.unit),
        "target": inside(found.target),
        "rival": inside(found.rival),
        "others": found.counts.tolist(),
        "target_mean": float(found.target.mean()),
        "target_deviation": float(found.target.std()),
    }


def _numbers(values: np.ndarray) -> list[float]:
    return [float(value) for value in np.asarray(values)]
