"""loadstone instance: write an instance for other programs."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.output import say
from loadstone.cli.size import associations_from


def instance(
    d: Annotated[int, typer.Option(help="Dimension of the embeddings.")],
    out: Annotated[str, typer.Option(help="The .npz file to write: inputs, outputs, targets, about.")],
    problem: Annotated[str, typer.Option(help="original, decoupled or groups:8.")] = "original",
    p: Annotated[Optional[int], typer.Option("--p", "--facts", help="Number of associations.")] = None,
    load: Annotated[Optional[float], typer.Option(help="Load p log p / d^2, instead of --p.")] = None,
    seed: Annotated[int, typer.Option(help="Which stream of associations.")] = 0,
    law: Annotated[str, typer.Option(help="gaussian, sphere, rademacher, power law:1.")] = "gaussian",
    answers: Annotated[Optional[int], typer.Option(help="Number of outputs; default: as many as inputs.")] = None,
    frequencies: Annotated[
        str, typer.Option(help="How often each answer is a target: uniform, balanced, zipf:s or a file of numbers.")
    ] = "uniform",
) -> None:
    """Write the first p associations of a stream as .npz."""
    p = associations_from(p, load, d)
    if not out.endswith(".npz"):
        raise ValueError(f"out is {out!r}, but must end in .npz.")
    from loadstone.frequencies import read_frequencies
    from loadstone.problems.instance import write_instance
    from loadstone.streams.stream import Stream

    with ends_like_an_interrupt():
        write_instance(out, problem, Stream(seed, d, law), p, answers, read_frequencies(frequencies))
    outputs = "" if answers is None else f", {answers} answers"
    say(f"{out}: {problem} problem, p = {p}{outputs}, d = {d}, seed {seed}, {law}.")
