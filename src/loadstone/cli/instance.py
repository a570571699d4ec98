"""loadstone instance: write an instance for other programs, as arrays or as a linear program."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from loadstone.cli import options
from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.output import say
from loadstone.files import check_writable


def instance(
    d: options.Dimension,
    out: Annotated[Optional[str], typer.Option(help="The .npz file to write: inputs, outputs, targets, about.")] = None,
    lp: Annotated[
        Optional[str], typer.Option(help="The .lp file to write: whether a W stores it, as a linear program.")
    ] = None,
    problem: options.Kind = "original",
    p: options.Size = None,
    load: options.Load = None,
    seed: options.Seed = 0,
    law: options.Law = "gaussian",
    answers: options.Answers = None,
    frequencies: options.Frequencies = "uniform",
    family: options.LinearFamily = "full",
) -> None:
    """Write the first p associations of a stream as .npz, as a linear program with exact coefficients, or as both."""
    p = options.associations_from(p, load, d)
    if out is None and lp is None:
        raise ValueError("out and lp are both left out: give the file to write.")
    for name, file, ending in (("out", out, ".npz"), ("lp", lp, ".lp")):
        if file is not None and not file.endswith(ending):
            raise ValueError(f"{name} is {file!r}, but must end in {ending}.")
        if file is not None:
            check_writable(file)
    if lp is None and family != "full":
        raise ValueError(
            f"family is {family!r}, but an instance is the same for all families: only --lp depends on it."
        )
    drawn = options.drawn_instance(d, p, problem=problem, seed=seed, law=law, answers=answers, frequencies=frequencies)
    outputs = "" if answers is None else f", {answers} answers"
    what = f"{problem} problem, p = {p}{outputs}, d = {d}, seed {seed}, {law}"
    with ends_like_an_interrupt():
        if out is not None:
            drawn.write(out)
            say(f"{out}: {what}.")
        if lp is not None:
            from loadstone.memories.families import subspace_of
            from loadstone.proofs.lp_file import write_lp

            what += "" if family == "full" else f", {family}"
            write_lp(lp, drawn.arrays(), family=subspace_of(family, d, seed=seed), about=what)
            say(f"{lp}: {what}.")
