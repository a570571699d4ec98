"""loadstone instance: write an instance for other programs."""

from __future__ import annotations

from typing import Annotated

import typer

from loadstone.cli import options
from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.output import say


def instance(
    d: options.Dimension,
    out: Annotated[str, typer.Option(help="The .npz file to write: inputs, outputs, targets, about.")],
    problem: options.Kind = "original",
    p: options.Size = None,
    load: options.Load = None,
    seed: options.Seed = 0,
    law: options.Law = "gaussian",
    answers: options.Answers = None,
    frequencies: options.Frequencies = "uniform",
) -> None:
    """Write the first p associations of a stream as .npz."""
    p = options.associations_from(p, load, d)
    if not out.endswith(".npz"):
        raise ValueError(f"out is {out!r}, but must end in .npz.")
    with ends_like_an_interrupt():
        options.drawn_instance(
            d, p, problem=problem, seed=seed, law=law, answers=answers, frequencies=frequencies
        ).write(out)
    outputs = "" if answers is None else f", {answers} answers"
    say(f"{out}: {problem} problem, p = {p}{outputs}, d = {d}, seed {seed}, {law}.")
