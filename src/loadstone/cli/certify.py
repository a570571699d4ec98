"""loadstone certify: decide whether an instance is storable, and write the proof to a file."""

from __future__ import annotations

from typing import Annotated, Any, Optional

import typer

from loadstone.arguments import refuse, whole
from loadstone.cli import options
from loadstone.cli.facts_words import about_own, gathered_from
from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.output import UNDECIDED, print_json, progress_of, say
from loadstone.files import check_writable
from loadstone.problems.kinds import check_kind

#: The fields of a verdict that --json prints.
_NUMBERS = "verdict reason margin passes newton_steps cg_products dense_solves seconds".split()
_SENTENCE = (
    "{verdict}: {reason} "
    "({passes} passes of L-BFGS, {newton_steps} Newton steps, {cg_products} products, {dense_solves} dense solves, "
    "{seconds:.2f} s)"
)


def certify(
    d: options.DimensionOrFile = None,
    p: options.Size = None,
    load: options.Load = None,
    problem: options.Kind = "original",
    seed: options.Seed = 0,
    law: options.Law = "gaussian",
    answers: options.Answers = None,
    frequencies: options.Frequencies = "uniform",
    instance: Annotated[
        Optional[str], typer.Option(help="An .npz of inputs, outputs (and targets), or facts in words, instead.")
    ] = None,
    vectors: options.OwnVectors = None,
    words: options.WordsFile = None,
    columns: options.ColumnNames = "subject,object",
    phrases: options.Phrases = "mean",
    family: options.LinearFamily = "full",
    steps: options.NewtonSteps = 200,
    seconds: Annotated[Optional[float], typer.Option(help="Most seconds; undecided after that.")] = None,
    budget: options.HessianBudget = None,
    out: Annotated[Optional[str], typer.Option(help="File for the proof (.npz).")] = None,
    json: options.Json = False,
) -> None:
    """Decide whether any d x d matrix, or one of a family, stores the facts. Exit code 0 if decided, 3 if not."""
    if instance is None and vectors is not None:
        raise ValueError(f"vectors is {vectors!r}, but there are no facts: give their file with --instance.")
    options.check_given_once(instance, d, p, load, answers)
    problem = check_kind(problem)
    whole("seed", seed, 0)
    if instance is not None:
        options.check_not_drawn(law=(law, "gaussian"), frequencies=(frequencies, "uniform"))
        if not family.startswith("masked:"):  # a random mask has a seed
            options.check_not_drawn(seed=(seed, 0))
    if d is not None:
        p = options.associations_from(p, load, d)
    if out is not None and not out.endswith(".npz"):
        raise ValueError(f"out is {out!r}, but must end in .npz.")
    if out is not None:
        check_writable(out)

    from loadstone.books.prefixes import first_facts
    from loadstone.memories.families import subspace_of
    from loadstone.memories.subspaces.registry import name_of
    from loadstone.problems.arrays import HasArrays
    from loadstone.problems.instance_files import read_instance
    from loadstone.proofs.certificate import write_proof
    from loadstone.proofs.verdict import Outcome
    from loadstone.solvers.decide import decide

    limits = options.proof_limits(steps, budget, seconds)
    given: HasArrays
    about: dict[str, Any]
    if instance is None:
        assert d is not None and p is not None
        drawn = options.drawn_instance(
            d, p, problem=problem, seed=seed, law=law, answers=answers, frequencies=frequencies
        )
        given, about = drawn, drawn.about()
    elif vectors is not None:
        gathered = gathered_from(instance, vectors, words, columns, phrases)
        given, about = first_facts(gathered, len(gathered)), about_own(gathered, instance, vectors)
    else:
        given = arrays = read_instance(instance)
        about = {"problem": "decoupled" if arrays.decoupled else "original", "instance": instance}
        about |= {"d": arrays.inputs.shape[1], "p": len(arrays.targets)}
    if problem not in ("original", about["problem"]):
        raise refuse("problem", problem, f"left out, because the facts in {instance} have one set of outputs")
    subspace = subspace_of(family, given.arrays().inputs.shape[1], seed=seed)
    about["family"] = "full" if subspace is None else name_of(subspace)
    with progress_of(f"{about['problem']}, d = {about['d']}, p = {about['p']}", steps) as progress:
        verdict = decide(given, limits, progress=progress, family=subspace or "full")
    if out is not None and verdict.verdict != Outcome.UNDECIDED:
        with ends_like_an_interrupt():
            write_proof(out, given.arrays(), verdict=verdict, about=about)
        say(f"{out}: proof, to be checked with loadstone check {out}.")
    record = about | {name: getattr(verdict, name) for name in _NUMBERS}
    if json:
        print_json(record)
    else:
        print(_SENTENCE.format(**record))
    if verdict.verdict == Outcome.UNDECIDED:
        raise typer.Exit(UNDECIDED)
