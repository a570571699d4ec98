"""Sweeps by name, at two scales: the runs that figures show.

'quick' shows the same as 'paper' in minutes on two cores; 'paper' has the sizes of the paper. Several sweeps have runs
in common; a store holds each run once.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from loadstone.arguments import choice
from loadstone.runs.grid import read_grid
from loadstone.runs.spec import Spec
from loadstone.studies.kit.runs import SCALES, protocol
from loadstone.studies.law import runs_at_the_papers_sizes
from loadstone.studies.registry import study_of
from loadstone.sweeps.shift import shift

#: The sweeps that `loadstone run` and `loadstone status` know by name. A figure that shows the runs of another figure's
#: sweep has an entry under its own name too.
CATALOGUE: dict[str, Callable[[str], list[Spec]]] = {
    "equivalence": study_of("equivalence").runs,
    "accuracy": study_of("accuracy").runs,
    "spectra": study_of("spectra").runs,
    "stored-spectra": study_of("stored-spectra").runs,
    "scores": study_of("scores").runs,
    "single": study_of("single").runs,
    "loss": protocol,
    "finite-size": study_of("finite-size").runs,
    "initial-spectra": study_of("initial-spectra").runs,
    "hebbian": study_of("hebbian").runs,
    "capacity": study_of("capacity").runs,
    "witnesses": study_of("witnesses").runs,
    "curves": study_of("curves").runs,
    "phase": study_of("phase").runs,
    "beyond": study_of("beyond").runs,
    "control": study_of("control").runs,
    "thresholds": runs_at_the_papers_sizes,
    "law": study_of("law").runs,
    "rank": study_of("rank").runs,
    "optimisers": study_of("optimisers").runs,
    "answers": study_of("answers").runs,
    "families": study_of("families").runs,
    "margin": study_of("margin").runs,
    "skew": study_of("skew").runs,
    "shift": shift,
    "pruning": study_of("pruning").runs,
    "layers": study_of("layers").runs,
    "edits": study_of("edits").runs,
    "topk": study_of("topk").runs,
    "peers": study_of("peers").runs,
    "space": study_of("space").runs,
    "lengths": study_of("lengths").runs,
    "solution-scores": study_of("solution-scores").runs,
    "bits": study_of("bits").runs,
}

#: Groups of sweeps: all of them, and the runs of the paper itself ('loss' has those of 'equivalence' and 'accuracy'
#: that follow the paper's protocol).
GROUPS: dict[str, tuple[str, ...]] = {
    "all": tuple(CATALOGUE),
    "paper": ("loss", "spectra", "scores", "initial-spectra", "hebbian"),
}


def named_sweep(name: str, scale: str = "quick") -> list[Spec]:
    """The specs of one sweep or of a group of them, each once."""
    choice("scale", scale, SCALES)
    if name not in CATALOGUE and name not in GROUPS:
        known = ", ".join((*GROUPS, *CATALOGUE))
        raise ValueError(f"{name!r} is not in the catalogue{_suggestion(name)}; it has {known}.")
    names = GROUPS.get(name, (name,))
    return list(dict.fromkeys(spec for one in names for spec in _sweep(one, scale)))


@cache
def _sweep(name: str, scale: str) -> tuple[Spec, ...]:
    """Figures ask for the same thousands of specs again."""
    return tuple(CATALOGUE[name](scale))


def specs_of(grid: str, scale: str = "quick") -> list[Spec]:
    """The specs of a grid file, or of the catalogue if `grid` is a name in it."""
    if grid.endswith(".toml") or Path(grid).is_file():
        return read_grid(grid)
    return named_sweep(grid, scale)


def _suggestion(name: str) -> str:
    near = difflib.get_close_matches(name, (*GROUPS, *CATALOGUE), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
