"""Every study by its name, one line each, and the runs that can be asked for by name.

Modules are imported only when needed: commands know all names without spending seconds on what studies need.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadstone.studies.kit.study import Study

#: The module of each study and the name of its value there.
STUDIES: dict[str, str] = {
    "equivalence": "loadstone.studies.equivalence:EQUIVALENCE",
    "accuracy": "loadstone.studies.accuracy:ACCURACY",
    "spectra": "loadstone.studies.spectra:SPECTRA",
    "stored-spectra": "loadstone.studies.stored_spectra:STORED_SPECTRA",
    "scores": "loadstone.studies.scores:SCORES",
    "single": "loadstone.studies.single_association:SINGLE",
    "loss": "loadstone.studies.equivalence:LOSS",
    "finite-size": "loadstone.studies.finite_size:FINITE_SIZE",
    "initial-spectra": "loadstone.studies.spectra:INITIAL_SPECTRA",
    "hebbian": "loadstone.studies.hebbian_scores:HEBBIAN",
    "capacity": "loadstone.studies.capacity:CAPACITY",
    "witnesses": "loadstone.studies.witnesses:WITNESSES",
    "law": "loadstone.studies.law:LAW",
    "rank": "loadstone.studies.rank:RANK",
    "optimisers": "loadstone.studies.optimisers:OPTIMISERS",
    "answers": "loadstone.studies.answers_and_families:ANSWERS",
    "families": "loadstone.studies.answers_and_families:FAMILIES",
    "margin": "loadstone.studies.margin:MARGIN",
    "skew": "loadstone.studies.skewed_answers:SKEW",
    "shift": "loadstone.figures.shift:SHIFT",
    "pruning": "loadstone.studies.pruning:PRUNING",
    "layers": "loadstone.studies.two_layers:LAYERS",
    "edits": "loadstone.studies.edits:EDITS",
    "topk": "loadstone.studies.short_lists:TOPK",
    "peers": "loadstone.studies.nichani:PEERS",
    "space": "loadstone.studies.solution_space:SPACE",
    "overlaps": "loadstone.studies.overlap_law:OVERLAPS",
    "lengths": "loadstone.studies.output_lengths:LENGTHS",
    "typical": "loadstone.studies.typical_spectra:TYPICAL",
    "solution-scores": "loadstone.studies.solution_scores:SOLUTION_SCORES",
    "robustness": "loadstone.studies.robustness:ROBUSTNESS",
    "bits": "loadstone.studies.bits:BITS",
    "curves": "loadstone.studies.above_capacity:CURVES",
    "phase": "loadstone.studies.phase_diagram:PHASE",
    "beyond": "loadstone.studies.above_capacity:BEYOND",
    "control": "loadstone.studies.precision:CONTROL",
    "entropy": "loadstone.studies.entropy:ENTROPY",
}


@cache
def study_of(name: str) -> Study:
    """The study of a name in `STUDIES`."""
    module, _, value = STUDIES[name].partition(":")
    return getattr(import_module(module), value)
