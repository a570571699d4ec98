"""Every figure by its name: the same names as in the catalogue of sweeps, which says what each one reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from loadstone.figures.capacity import draw_capacity
from loadstone.figures.curves import draw_beyond, draw_curves
from loadstone.figures.entropy import draw_entropy
from loadstone.figures.finite_size import draw_finite_size
from loadstone.figures.load_curves import draw_accuracy, draw_equivalence, draw_loss
from loadstone.figures.phase import draw_phase
from loadstone.figures.scores import draw_hebbian, draw_scores, draw_single
from loadstone.figures.spectra import draw_initial_spectra, draw_spectra

#: A figure takes rows (the spec and the result of each record, in one dictionary) and a path without its ending.
GALLERY: dict[str, Callable[[list[dict], Path], list[Path]]] = {
    "equivalence": draw_equivalence,
    "accuracy": draw_accuracy,
    "spectra": draw_spectra,
    "scores": draw_scores,
    "single": draw_single,
    "loss": draw_loss,
    "finite-size": draw_finite_size,
    "initial-spectra": draw_initial_spectra,
    "hebbian": draw_hebbian,
    "capacity": draw_capacity,
    "curves": draw_curves,
    "phase": draw_phase,
    "beyond": draw_beyond,
    "entropy": draw_entropy,
}
