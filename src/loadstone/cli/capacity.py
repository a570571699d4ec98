"""loadstone capacity: the exact number of associations that fit, for each stream, and the predicted one."""

from __future__ import annotations

from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from loadstone.arguments import positive, refuse, whole
from loadstone.cli import options
from loadstone.cli.facts_words import about_own, gathered_from
from loadstone.cli.output import UNDECIDED, print_json, print_pairs, progress_of
from loadstone.cli.own_facts import own_capacity
from loadstone.problems.kinds import check_kind, sets_of_outputs
from loadstone.theory.capacity import facts_that_fit
from loadstone.theory.codimension import codimension
from loadstone.theory.families import directions_shown, statistical_dimension
from loadstone.theory.load import load as alpha
from loadstone.theory.storable import facts_interval, storable_interval

if TYPE_CHECKING:
    from loadstone.problems.instance import Instance


def capacity(
    d: options.DimensionOrFile = None,
    problem: options.Kind = "original",
    seed: options.FirstSeed = 0,
    seeds: options.Seeds = 5,
    law: options.Law = "gaussian",
    answers: options.Answers = None,
    frequencies: options.Frequencies = "uniform",
    family: options.LinearFamily = "full",
    instance: Annotated[Optional[str], typer.Option(help="Facts in words instead, with --vectors.")] = None,
    vectors: options.OwnVectors = None,
    words: options.WordsFile = None,
    columns: options.ColumnNames = "subject,object",
    phrases: options.Phrases = "mean",
    seconds: Annotated[float, typer.Option(help="Most seconds for facts in words, about.")] = 60.0,
    steps: options.NewtonSteps = 200,
    budget: options.HessianBudget = None,
    json: options.Json = False,
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
        options.check_not_drawn(
            seed=(seed, 0), seeds=(seeds, 5), law=(law, "gaussian"), frequencies=(frequencies, "uniform")
        )
        positive("seconds", seconds)
        gathered = gathered_from(instance, vectors, words, columns, phrases)
        about = about_own(gathered, instance, vectors)
        return own_capacity(gathered, about, seconds, family, options.proof_limits(steps, budget), json)
    if d is None:
        raise ValueError("No facts are given: give --d, or a file with --instance and --vectors.")
    d, seeds = whole("d", d, 1, options.MOST_DIMENSION), whole("seeds", seeds, 1, 10**6)
    seed = whole("seed", seed, 0, 2**64 - seeds)
    problem = check_kind(problem)

    from loadstone.memories.families import subspace_of, written_family
    from loadstone.proofs.verdict import Outcome
    from loadstone.tasks.capacity import exact_capacity

    limits = options.proof_limits(steps, budget)
    drawn = partial(options.drawn_instance, problem=problem, law=law, answers=answers, frequencies=frequencies)
    facts = drawn(d, 2, seed=seed)
    subspace, family = subspace_of(family, d, seed=seed), written_family(family)
    dimensions = d * d if subspace is None else subspace.dimension(d)
    predicted, interval = _predicted(family, facts)
    around = max(2, round(predicted or dimensions / codimension(answers or d)))
    capacities = []
    with progress_of(f"{problem}, d = {d}", seeds) as progress:
        for index in range(seeds):
            say_verdict = lambda p, verdict: progress(index, f"seed {seed + index}: p = {p} {verdict.verdict}")  # noqa: E731, B023
            capacities.append(
                exact_capacity(drawn(d, around, seed=seed + index), limits, progress=say_verdict, family=family)
            )
        progress(seeds, "")
    decided = [exact.p_c for exact in capacities if exact.p_c is not None]
    record: dict[str, Any] = {
        "problem": problem, "d": d, "law": law, "family": family, "dimensions": dimensions,
        **({} if answers is None else {"answers": facts.answers, "frequencies": facts.frequencies}),
        "seeds": list(range(seed, seed + seeds)), "p_c": [exact.p_c for exact in capacities],
        "alpha_c": [None if exact.p_c is None else float(alpha(exact.p_c, d)) for exact in capacities],
        "mean_p_c": fmean(decided) if decided else None, "undecided": seeds - len(decided),
        "predicted_p_c": predicted, "predicted_interval": interval,
        "verdicts": sum(verdict != Outcome.UNDECIDED for exact in capacities for _, verdict in exact.verdicts),
        "seconds": sum(exact.seconds for exact in capacities),
    }  # fmt: skip
    if json:
        print_json(record)
    else:
        of_family = "" if family == "full" else f", {family}"
        print_pairs(f"Exact capacity, {problem} problem, d = {d}{of_family}", _rows(record))
    if record["undecided"]:
        raise typer.Exit(UNDECIDED)


def _predicted(family: str, facts: Instance) -> tuple[float | None, list[int] | None]:
    """The predicted capacity and the interval that holds that of 95 % of all streams; None where it is not known."""
    d, answers = facts.d, facts.answers
    # Sets of outputs that differ show different directions.
    sets = sets_of_outputs(facts.kind, d * d)
    directions = min(d, sets * directions_shown(d, answers or d + 1))
    in_a_file = family.endswith(".npy")
    if facts.frequencies not in ("uniform", "balanced") or (in_a_file and directions < d):
        return None, None
    memories = statistical_dimension(family, d, directions=directions)
    if answers is None:
        interval = [int(p) for p in storable_interval(d)] if memories.delta == d**2 else None
        return facts_that_fit(lambda facts: memories.delta), interval
    interval = None if memories.faces is None else [int(p) for p in facts_interval(answers, memories)]
    return memories.delta / codimension(answers), interval


def _rows(record: dict[str, Any]) -> dict[str, str]:
    predicted, mean, seeds = record["predicted_p_c"], record["mean_p_c"], record["seeds"]
    rows = {
        f"largest storable p, seeds {seeds[0]} to {seeds[-1]}": ", ".join(
            "undecided" if p is None else str(p) for p in record["p_c"]
        ),
        "mean": "none decided" if mean is None else f"{mean:.2f}, load {alpha(mean, record['d']):.4f}",
        "predicted (gaussian, decoupled)" if "answers" not in record else "predicted (gaussian)": (
            "not known for these answers" if predicted is None else f"{predicted:.2f}"
        ),
    }
    if record["predicted_interval"]:
        rows["predicted for 95 % of streams"] = "{} to {}".format(*record["predicted_interval"])
    return rows | {"verdicts, each proved": f"{record['verdicts']} in {record['seconds']:.1f} s"}
