"""loadstone instance: write an instance for other programs."""

from __future__ import annotations

from typing import Annotated

import typer

from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.options import Answers, Dimension, Frequencies, Kind, Law, Load, Seed, Size, associations_from
from loadstone.cli.output import say


def instance(
    d: Dimension,
    out: Annotated[str, typer.Option(help="The .npz file to write: inputs, outputs, targets, about.")],
    problem: Kind = "original",
    p: Size = None,
    load: Load = None,
    seed: Seed = 0,
    law: Law = "gaussian",
    answers: Answers = None,
    frequencies: Frequencies = "uniform",
) -> None:
    """Write the first p associations of a stream as .npz."""
    p = associations_from(p, load, d)
    if not out.endswith(".npz"):
        raise ValueError(f"out is {out!r}, but must end in .npz.")
    from loadstone.frequencies import read_frequencies
    from loadstone.problems.instance import Instance
    from loadstone.streams.stream import Stream

    with ends_like_an_interrupt():
        Instance(
            Stream(seed, d, law=law), p, kind=problem, answers=answers, frequencies=read_frequencies(frequencies)
        ).write(out)
    outputs = "" if answers is None else f", {answers} answers"
    say(f"{out}: {problem} problem, p = {p}{outputs}, d = {d}, seed {seed}, {law}.")
