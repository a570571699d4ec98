"""loadstone capacity: the exact number of associations that fit, stream by stream, beside the prediction."""

from __future__ import annotations

from statistics import fmean
from typing import Annotated, Any, Optional

import typer

from loadstone.arguments import positive, refuse, whole
from loadstone.cli.facts_options import ColumnNames, Phrases, WordsFile
from loadstone.cli.options import (
    MOST_DIMENSION,
    Answers,
    DimensionOrFile,
    FirstSeed,
    Frequencies,
    HessianBudget,
    Json,
    Kind,
    Law,
    LinearFamily,
    NewtonSteps,
    Seeds,
)
from loadstone.cli.output import print_json, print_pairs, progress_of
from loadstone.cli.own_facts import OwnVectors, check_not_drawn, own_capacity
from loadstone.problems.kinds import check_kind, sets_of_outputs
from loadstone.theory.capacity import facts_that_fit
from loadstone.theory.codimension import codimension
from loadstone.theory.families import FaceLaw, StatisticalDimension, directions_shown, statistical_dimension
from loadstone.theory.load import load as alpha
from loadstone.theory.storable import facts_interval, storable_interval

_NOT_KNOWN = "not known for these answers"


def capacity(
    d: DimensionOrFile = None,
    problem: Kind = "original",
    seed: FirstSeed = 0,
    seeds: Seeds = 5,
    law: Law = "gaussian",
    answers: Answers = None,
    frequencies: Frequencies = "uniform",
    family: LinearFamily = "full",
    instance: Annotated[Optional[str], typer.Option(help="Facts in words instead, with --vectors.")] = None,
    vectors: OwnVectors = None,
    words: WordsFile = None,
    columns: ColumnNames = "subject,object",
    phrases: Phrases = "mean",
    seconds: Annotated[float, typer.Option(help="Most seconds for facts in words, about.")] = 60.0,
    steps: NewtonSteps = 200,
    budget: HessianBudget = None,
    json: Json = False,
) -> None:
    """Find for each stream the largest p whose first p associations are storable; every verdict is proved.

    With --instance and --vectors, the same for your own facts in the order of their file.
    """
    if (instance is None) != (vectors is None):
        raise ValueError("Facts in words need both: their file with --instance, and --vectors.")
    if instance is not None and vectors is not None:
        if d is not None or answers is not None:
            raise ValueError("The facts are given twice: give either --instance or --d.")
        if problem != "original":
            raise refuse("problem", problem, "original for facts in words, whose answers all compete")
        check_not_drawn(seed=(seed, 0), seeds=(seeds, 5), law=(law, "gaussian"), frequencies=(frequencies, "uniform"))
        positive("seconds", seconds)
        return own_capacity(instance, vectors, words, columns, phrases, seconds, family, steps, budget, json)
    if d is None:
        raise ValueError("No facts are given: give --d, or a file with --instance and --vectors.")
    d, seeds = whole("d", d, 1, MOST_DIMENSION), whole("seeds", seeds, 1, 10**6)
    seed = whole("seed", seed, 0, 2**64 - seeds)
    problem = check_kind(problem)

    from loadstone.frequencies import check_answers, read_frequencies
    from loadstone.memories.families import subspace_of, written_family
    from loadstone.problems.budget import Budget
    from loadstone.problems.instance import Instance
    from loadstone.proofs.verdict import Outcome
    from loadstone.solvers.decide import ProofLimits
    from loadstone.streams.stream import Stream
    from loadstone.tasks.capacity import exact_capacity

    answers, drawn = check_answers(answers, read_frequencies(frequencies))
    subspace, family = subspace_of(family, d, seed=seed), written_family(family)
    dimensions = d * d if subspace is None else subspace.dimension(d)
    # Sets of outputs that differ show different directions.
    sets = sets_of_outputs(problem, d * d)
    directions = min(d, sets * directions_shown(d, answers or d + 1))
    memories = _memories(family, d, directions, dimensions)
    predicted, interval = _predicted(memories, answers, drawn)
    around = predicted or dimensions / codimension(answers or d)
    limits = ProofLimits(steps, None if budget is None else Budget.parse(budget))
    found = []
    with progress_of(f"{problem}, d = {d}", seeds) as advance:
        for index in range(seeds):
            tell = lambda p, verdict: advance(index, f"seed {seed + index}: p = {p} {verdict.verdict}")  # noqa: E731, B023
            first = Instance(
                Stream(seed + index, d, law=law),
                max(2, round(around)),
                kind=problem,
                answers=answers,
                frequencies=drawn,
            )
            found.append(exact_capacity(first, limits, progress=tell, family=family))
        advance(seeds, "")
    decided = [one.p_c for one in found if one.p_c is not None]
    record: dict[str, Any] = {
        "problem": problem,
        "d": d,
        "law": law,
        "family": family,
        "dimensions": dimensions,
        **({} if answers is None else {"answers": answers, "frequencies": drawn}),
        "seeds": list(range(seed, seed + seeds)),
        "p_c": [one.p_c for one in found],
        "alpha_c": [None if one.p_c is None else float(alpha(one.p_c, d)) for one in found],
        "mean_p_c": fmean(decided) if decided else None,
        "undecided": seeds - len(decided),
        "predicted_p_c": predicted,
        "predicted_interval": interval,
        "verdicts": sum(verdict != Outcome.UNDECIDED for one in found for _, verdict in one.verdicts),
        "seconds": sum(one.seconds for one in found),
    }
    if json:
        print_json(record)
    else:
        of_family = "" if family == "full" else f", {family}"
        print_pairs(f"Exact capacity, {problem} problem, d = {d}{of_family}", _rows(record))
    if record["undecided"]:
        raise typer.Exit(3)


def _memories(family: str, d: int, directions: int, dimensions: int) -> StatisticalDimension | None:
    """What theory knows of a linear family: by its name, or, of one that a file gives, by its dimension alone."""
    if not family.endswith(".npy"):
        return statistical_dimension(family, d, directions=directions)
    if directions < d:
        return None
    return StatisticalDimension(family, d, d, dimensions, faces=FaceLaw(dimensions), variance=0.0)


def _predicted(
    memories: StatisticalDimension | None, answers: int | None, frequencies: str | tuple[float, ...]
) -> tuple[float | None, list[int] | None]:
    """The predicted capacity and the interval of 95 % of all streams; None where it is not known."""
    if memories is None or frequencies not in ("uniform", "balanced"):
        return None, None
    if answers is None:
        interval = [int(p) for p in storable_interval(memories.d)] if memories.delta == memories.d**2 else None
        return facts_that_fit(lambda facts: memories.delta), interval
    interval = None if memories.faces is None else [int(p) for p in facts_interval(answers, memories)]
    return memories.delta / codimension(answers), interval


def _rows(record: dict[str, Any]) -> dict[str, str]:
    known = record["predicted_p_c"] is not None
    listed = ", ".join("undecided" if p is None else str(p) for p in record["p_c"])
    mean = record["mean_p_c"]
    rows = {
        f"largest storable p, seeds {record['seeds'][0]} to {record['seeds'][-1]}": listed,
        "mean": "none decided" if mean is None else f"{mean:.2f}, load {alpha(mean, record['d']):.4f}",
        "predicted (gaussian, decoupled)" if "answers" not in record else "predicted (gaussian)": (
            f"{record['predicted_p_c']:.2f}" if known else _NOT_KNOWN
        ),
    }
    if record["predicted_interval"]:
        rows["predicted for 95 % of streams"] = "{} to {}".format(*record["predicted_interval"])
    return rows | {"verdicts, each proved": f"{record['verdicts']} in {record['seconds']:.1f} s"}
