"""Every study by its name, one line each, and the sweeps, which are the runs that can be asked for by name.

Sweeps come at two scales: 'quick' shows the same as 'paper' in minutes on two cores; 'paper' has the sizes of the
paper. Modules are imported only when needed: commands know all names without spending seconds on what studies need.
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadstone.arguments import choice

if TYPE_CHECKING:
    from loadstone.runs.spec import Spec
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
    "shift": "loadstone.studies.original_excess:ORIGINAL_EXCESS",
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


#: Scales of a sweep.
SCALES = ("quick", "paper")
#: Runs that are no study of their own: the capacities at the paper's sizes, a part of those of 'law'.
_PARTS = {"thresholds": "loadstone.studies.law:runs_at_the_papers_sizes"}
#: Names in `STUDIES` whose runs can be asked for. 'entropy' is theory alone.
SWEEPS: tuple[str, ...] = (*(name for name in STUDIES if name != "entropy"), *_PARTS)
#: Groups of sweeps: all of them, and the runs of the paper itself ('loss' has those of 'equivalence' and 'accuracy'
#: that follow the paper's protocol).
GROUPS: dict[str, tuple[str, ...]] = {
    "all": SWEEPS,
    "paper": ("loss", "spectra", "scores", "initial-spectra", "hebbian"),
}


@cache
def study_of(name: str) -> Study:
    """The study of a name in `STUDIES`."""
    return _imported(STUDIES[name])


def named_sweep(name: str, scale: str = "quick") -> list[Spec]:
    """The specs of one sweep or of a group of them, each once."""
    choice("scale", scale, SCALES)
    if name not in SWEEPS and name not in GROUPS:
        known = (*GROUPS, *SWEEPS)
        near = difflib.get_close_matches(name, known, n=1)
        suggestion = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"{name!r} is no sweep{suggestion}; known are {', '.join(known)}.")
    return list(dict.fromkeys(spec for sweep in GROUPS.get(name, (name,)) for spec in _specs(sweep, scale)))


@cache
def _specs(sweep: str, scale: str) -> tuple[Spec, ...]:
    """The specs of a sweep, kept because studies ask for the same thousands again."""
    return tuple(_imported(_PARTS[sweep])(scale) if sweep in _PARTS else study_of(sweep).runs(scale))


def specs_of(grid: str, scale: str = "quick") -> list[Spec]:
    """The specs of a grid file, or of the sweep if `grid` is the name of one."""
    if grid.endswith(".toml") or Path(grid).is_file():
        from loadstone.runs.grid import read_grid

        return read_grid(grid)
    return named_sweep(grid, scale)


def _imported(place: str) -> Any:
    module, _, value = place.partition(":")
    return getattr(import_module(module), value)
