"""Sweeps by name, at two scales: the runs that figures show.

'quick' shows the same as 'paper' in minutes on two cores; 'paper' has the sizes of the paper. Several sweeps have runs
in common; a store holds each run once.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from loadstone.arguments import choice
from loadstone.runs.grid import read_grid
from loadstone.runs.spec import Spec
from loadstone.studies.kit.runs import (
    DIMENSIONS,
    KAPPAS,
    LOADS,
    PROVED,
    SCALES,
    SEEDS,
    associations,
    by_lbfgs,
    exact_capacities,
    protocol,
    share_of_capacity,
    trained,
)
from loadstone.studies.registry import study_of
from loadstone.sweeps.control import control
from loadstone.sweeps.edits import edits
from loadstone.sweeps.law import law, thresholds
from loadstone.sweeps.layers import layers
from loadstone.sweeps.lengths import lengths
from loadstone.sweeps.margins import margin
from loadstone.sweeps.one_law import answers, families, skew
from loadstone.sweeps.optimisers import optimisers
from loadstone.sweeps.peers import peers
from loadstone.sweeps.pruning import pruning
from loadstone.sweeps.ranks import rank
from loadstone.sweeps.shift import shift
from loadstone.sweeps.solution_scores import solution_scores
from loadstone.sweeps.space import space
from loadstone.sweeps.topk import topk

_SCORE_LOADS = (0.2, 0.5, 1.2)
_SCORE_DIMENSION = {"quick": 40, "paper": 150}


def equivalence(scale: str) -> list[Spec]:
    """Accuracy against load at full rank, original and decoupled: the paper's protocol, and L-BFGS."""
    return trained(scale, (1.0,)) + by_lbfgs(scale, (1.0,))


def accuracy(scale: str) -> list[Spec]:
    """The same for three rank fractions, and the Hebbian rule."""
    return protocol(scale) + by_lbfgs(scale, KAPPAS)


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


def finite_size(scale: str) -> list[Spec]:
    """Where the first error appears: trained with the stop rule 'exact' up to d = 150, and proved at small sizes."""
    until_exact = [
        Spec(problem, d, associations(load, d), seed, stop="exact")
        for problem, dimensions in DIMENSIONS[scale].items()
        for d in dimensions
        if d <= 150
        for load in LOADS[scale]
        for seed in range(SEEDS[scale])
    ]
    return trained(scale, (1.0,)) + until_exact + capacity(scale)


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


def capacity(scale: str) -> list[Spec]:
    """Exact capacities of many streams, and the paper's protocol at sizes around them."""
    tried = [
        Spec("original", d, share_of_capacity(share, d), seed, stop="exact")
        for d in PROVED[scale]
        for share in (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
        for seed in range(5)
    ]
    return exact_capacities(PROVED[scale]) + tried


def witnesses(scale: str) -> list[Spec]:
    """The exact capacities of 'capacity', whose records hold the memories that prove them."""
    return exact_capacities(PROVED[scale])


def curves(scale: str) -> list[Spec]:
    """Training above capacity, where the paper's protocol converges; 'quick' has more seeds than elsewhere, so that the
    means are known well enough to be compared with theory."""
    loads, seeds = {"quick": ((0.9, 1.0, 1.1, 1.2, 1.4, 1.6), 6), "paper": ((0.8, 0.9, 1.0, 1.2), 5)}[scale]
    return [
        Spec(problem, d, associations(load, d), seed)
        for problem, dimensions in DIMENSIONS[scale].items()
        for d in dimensions
        for load in loads
        if associations(load, d) > share_of_capacity(1, d)
        for seed in range(seeds)
    ]


def beyond(scale: str) -> list[Spec]:
    """Sizes that the paper does not have, a few loads around the threshold: large original problems, and decoupled ones
    whose outputs are stored in float16 or not stored at all."""
    if scale == "quick":
        seeds, original, halves, made = 2, {60: [0.7, 0.9, 1.1]}, {30: [0.8, 1.1]}, {24: [0.8, 1.1]}
    else:
        seeds, original = 2, {1024: [0.6, 0.7, 0.725, 0.75, 0.8], 2048: [0.65, 0.7]}
        halves, made = {300: [0.6, 0.7, 0.75, 0.8]}, {400: [0.6, 0.7, 0.75, 0.8]}
    kinds = [
        (original, partial(Spec, "original")),
        (halves, partial(Spec, "decoupled", hold="stored", stored_dtype="float16")),
        (made, partial(Spec, "decoupled", hold="regenerated")),
    ]
    return [
        kind(d=d, p=associations(load, d), seed=seed)
        for sizes, kind in kinds
        for d, loads in sizes.items()
        for load in loads
        # The largest take minutes each: one seed.
        for seed in range(seeds if d not in (400, 1024, 2048) else 1)
    ]


#: The sweeps that `loadstone run` and `loadstone status` know by name. A figure that shows the runs of another figure's
#: sweep has an entry under its own name too.
CATALOGUE: dict[str, Callable[[str], list[Spec]]] = {
    "equivalence": equivalence,
    "accuracy": accuracy,
    "spectra": spectra,
    "stored-spectra": accuracy,
    "scores": scores,
    "single": scores,
    "loss": protocol,
    "finite-size": finite_size,
    "initial-spectra": initial_spectra,
    "hebbian": hebbian,
    "capacity": capacity,
    "witnesses": witnesses,
    "curves": curves,
    "phase": protocol,
    "beyond": beyond,
    "control": control,
    "thresholds": thresholds,
    "law": law,
    "rank": rank,
    "optimisers": optimisers,
    "answers": answers,
    "families": families,
    "margin": margin,
    "skew": skew,
    "shift": shift,
    "pruning": pruning,
    "layers": layers,
    "edits": edits,
    "topk": topk,
    "peers": peers,
    "space": space,
    "lengths": lengths,
    "solution-scores": solution_scores,
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
