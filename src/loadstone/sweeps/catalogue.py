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
from loadstone.studies.kit.runs import (
    DIMENSIONS,
    KAPPAS,
    SCALES,
    SEEDS,
    associations,
    protocol,
    share_of_capacity,
)
from loadstone.studies.law import runs_at_the_papers_sizes
from loadstone.studies.registry import study_of
from loadstone.sweeps.shift import shift

_SCORE_LOADS = (0.2, 0.5, 1.2)
_SCORE_DIMENSION = {"quick": 40, "paper": 150}


def spectra(scale: str) -> list[Spec]:
    """Memories at the capacity that is predicted for their size and rank."""
    return [
        Spec(problem, d, share_of_capacity(1, d, kappa), seed, kappa)
        for problem, dimensions in DIMENSIONS[scale].items()
        for d in dimensions
        for kappa in KAPPAS
        for seed in range(SEEDS[scale])
    ]


def scores(scale: str) -> list[Spec]:
    """Both problems at the paper's three loads and at the capacity of their size, trained to the schedule's end; and
    with the paper's stop rule at the loads where it ends the training before."""
    d = _SCORE_DIMENSION[scale]
    stopped = [
        Spec(problem, d, associations(load, d), seed)
        for problem in ("original", "decoupled")
        for load in _SCORE_LOADS[:2]
        for seed in range(SEEDS[scale])
    ]
    return stopped + [
        Spec(problem, d, p, seed, stop="none")
        for problem in ("original", "decoupled")
        for p in (*(associations(load, d) for load in _SCORE_LOADS), share_of_capacity(1, d))
        for seed in range(SEEDS[scale])
    ]


def initial_spectra(scale: str) -> list[Spec]:
    """Factored memories before training; p does not matter."""
    d = {"quick": 300, "paper": 1000}[scale]
    # At kappa = 1 a memory has no factors; just below it has factors of full rank.
    kappas = (*KAPPAS[:-1], 0.9999)
    return [Spec("original", d, 2, seed, kappa, solver="initial") for kappa in kappas for seed in range(SEEDS[scale])]


def hebbian(scale: str) -> list[Spec]:
    """The Hebbian rule at its capacity, a load of 1/8, and above."""
    d = {"quick": 200, "paper": 500}[scale]
    return [
        Spec("original", d, associations(load, d), seed, solver="hebbian")
        for load in (0.125, 0.3, 1.0)
        for seed in range(SEEDS[scale])
    ]


#: The sweeps that `loadstone run` and `loadstone status` know by name. A figure that shows the runs of another figure's
#: sweep has an entry under its own name too.
CATALOGUE: dict[str, Callable[[str], list[Spec]]] = {
    "equivalence": study_of("equivalence").runs,
    "accuracy": study_of("accuracy").runs,
    "spectra": spectra,
    "stored-spectra": study_of("accuracy").runs,
    "scores": scores,
    "single": scores,
    "loss": protocol,
    "finite-size": study_of("finite-size").runs,
    "initial-spectra": initial_spectra,
    "hebbian": hebbian,
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
