"""loadstone certify: decide whether an instance is storable, and write the proof to a file."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from loadstone.arguments import refuse, whole
from loadstone.cli.facts_options import ColumnNames, Phrases, WordsFile
from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.options import (
    Answers,
    DimensionOrFile,
    Frequencies,
    HessianBudget,
    Json,
    Kind,
    Law,
    LinearFamily,
    Load,
    NewtonSteps,
    Seed,
    Size,
    associations_from,
)
from loadstone.cli.output import print_json, progress_of, say
from loadstone.cli.own_facts import OwnVectors, check_not_drawn, own_facts
from loadstone.files import check_writable
from loadstone.problems.kinds import check_kind

#: Exit code of a search that ended without a proof.
UNDECIDED_CODE = 3
_SENTENCE = (
    "{verdict}: {reason} "
    "({passes} passes of L-BFGS, {newton_steps} Newton steps, {cg_products} products, {dense_solves} dense solves, "
    "{seconds:.2f} s)"
)


def certify(
    d: DimensionOrFile = None,
    p: Size = None,
    load: Load = None,
    problem: Kind = "original",
    seed: Seed = 0,
    law: Law = "gaussian",
    answers: Answers = None,
    frequencies: Frequencies = "uniform",
    instance: Annotated[
        Optional[str], typer.Option(help="An .npz of inputs, outputs (and targets), or facts in words, instead.")
    ] = None,
    vectors: OwnVectors = None,
    words: WordsFile = None,
    columns: ColumnNames = "subject,object",
    phrases: Phrases = "mean",
    family: LinearFamily = "full",
    steps: NewtonSteps = 200,
    seconds: Annotated[Optional[float], typer.Option(help="Most seconds; undecided after that.")] = None,
    budget: HessianBudget = None,
    out: Annotated[Optional[str], typer.Option(help="File for the proof (.npz).")] = None,
    json: Json = False,
) -> None:
    """Decide whether any d x d matrix, or one of a family, stores the facts. Exit code 0 if decided, 3 if not."""
    if instance is not None and not (d is p is load is answers is None):
        raise ValueError("The instance is given twice: give either --instance or a size (--d with --p or --load).")
    if instance is None and vectors is not None:
        raise ValueError(f"vectors is {vectors!r}, but there are no facts: give their file with --instance.")
    if instance is None and d is None:
        raise ValueError("No instance is given: give --d with --p or --load, or a file with --instance.")
    problem = check_kind(problem)
    whole("seed", seed, 0)
    if instance is not None:
        check_not_drawn(law=(law, "gaussian"), frequencies=(frequencies, "uniform"))
        if not family.startswith("masked:"):  # a random mask has a seed
            check_not_drawn(seed=(seed, 0))
    if d is not None:
        p = associations_from(p, load, d)
    if out is not None and not out.endswith(".npz"):
        raise ValueError(f"out is {out!r}, but must end in .npz.")
    if out is not None:
        check_writable(out)

    from loadstone.books.prefixes import first_facts
    from loadstone.frequencies import read_frequencies
    from loadstone.memories.families import subspace_of
    from loadstone.memories.subspaces.registry import name_of
    from loadstone.problems.budget import Budget
    from loadstone.problems.instance import Instance
    from loadstone.problems.instance_files import read_instance
    from loadstone.proofs.certificate import write_proof
    from loadstone.proofs.verdict import Outcome, in_words
    from loadstone.solvers.decide import ProofLimits, decide
    from loadstone.streams.stream import Stream

    limits = ProofLimits(steps, Budget.parse(budget) if budget is not None else None, seconds)
    about: dict[str, object]
    if instance is None:
        assert d is not None and p is not None
        drawn = Instance(
            Stream(seed, d, law=law), p, kind=problem, answers=answers, frequencies=read_frequencies(frequencies)
        )
        arrays, about = drawn.arrays(), drawn.about()
    elif vectors is not None:
        found, about = own_facts(instance, vectors, words, columns, phrases)
        arrays = first_facts(found, len(found))
    else:
        arrays = read_instance(instance)
        about = {"problem": "decoupled" if arrays.decoupled else "original", "instance": instance}
        about |= {"d": arrays.inputs.shape[1], "p": len(arrays.targets)}
    if problem not in ("original", about["problem"]):
        raise refuse("problem", problem, f"left out, because the facts in {instance} have one set of outputs")
    subspace = subspace_of(family, arrays.inputs.shape[1], seed=seed)
    about["family"] = "full" if subspace is None else name_of(subspace)
    with progress_of(f"{about['problem']}, d = {about['d']}, p = {about['p']}", steps) as advance:
        verdict = decide(arrays, limits, progress=advance, family=subspace or "full")
    if out is not None and verdict.verdict != Outcome.UNDECIDED:
        with ends_like_an_interrupt():
            write_proof(out, arrays, verdict=verdict, about=about)
        say(f"{out}: proof, to be checked with loadstone check {out}.")
    record = about | {
        "verdict": verdict.verdict,
        "margin": verdict.margin,
        "bound": verdict.bound,
        "share": verdict.share,
        "passes": verdict.passes,
        "newton_steps": verdict.newton_steps,
        "cg_products": verdict.cg_products,
        "dense_solves": verdict.dense_solves,
        "seconds": verdict.seconds,
        "reason": in_words(verdict),
    }
    if json:
        print_json(record)
    else:
        print(_SENTENCE.format(**record))
    if verdict.verdict == Outcome.UNDECIDED:
        raise typer.Exit(UNDECIDED_CODE)
