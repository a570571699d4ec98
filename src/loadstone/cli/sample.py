"""loadstone sample: the set of all memories that store an instance, beside what is predicted."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from loadstone.arguments import whole
from loadstone.cli.options import (
    Answers,
    DimensionOrFile,
    Frequencies,
    Json,
    Kind,
    Law,
    LinearFamily,
    Load,
    Size,
    associations_from,
)
from loadstone.cli.output import print_json, print_pairs, progress_of, say
from loadstone.problems.kinds import check_kind

#: Exit code of chains that have not mixed, as of a search that ended without a proof.
NOT_MIXED_CODE = 3


def sample(
    d: DimensionOrFile = None,
    p: Size = None,
    load: Load = None,
    problem: Kind = "original",
    seed: Annotated[int, typer.Option(help="Which stream of associations; also the seed of the chains.")] = 0,
    law: Law = "gaussian",
    answers: Answers = None,
    frequencies: Frequencies = "uniform",
    instance: Annotated[Optional[str], typer.Option(help="An .npz of inputs, outputs (and targets), instead.")] = None,
    family: LinearFamily = "full",
    chains: Annotated[int, typer.Option(help="Independent chains, at least 2.")] = 4,
    steps: Annotated[Optional[int], typer.Option(help="Steps of each chain; default: 320 or 400000.")] = None,
    method: Annotated[str, typer.Option(help="reflections, or slices, which is far slower.")] = "reflections",
    volume: Annotated[bool, typer.Option(help="Find the free entropy too, which takes longer.")] = True,
    json: Json = False,
) -> None:
    """Sample all memories that store the facts: overlap and free entropy. Exit code 3 if chains have not mixed."""
    if instance is not None and not (d is p is load is answers is None):
        raise ValueError("The instance is given twice: give either --instance or a size (--d with --p or --load).")
    if instance is None and d is None:
        raise ValueError("No instance is given: give --d with --p or --load, or a file with --instance.")
    problem = check_kind(problem)
    whole("seed", seed, 0, 2**31 - 1)
    whole("chains", chains, 2)
    if steps is not None:
        whole("steps", steps, 2)
    if d is not None:
        p = associations_from(p, load, d)

    from loadstone.frequencies import read_frequencies
    from loadstone.memories.families import subspace_of
    from loadstone.memories.subspaces.registry import name_of
    from loadstone.problems.instance import Instance
    from loadstone.problems.instance_files import read_instance
    from loadstone.space.sample import sample as sampled
    from loadstone.streams.stream import Stream
    from loadstone.theory.answers import memories_seen
    from loadstone.theory.entropy import facts_free_entropy

    if instance is None:
        assert d is not None and p is not None
        arrays = Instance(
            Stream(seed, d, law=law), p, kind=problem, answers=answers, frequencies=read_frequencies(frequencies)
        ).arrays()
    else:
        arrays = read_instance(instance)
        problem = "decoupled" if arrays.decoupled else "original"
    p, d = arrays.inputs.shape
    subspace = subspace_of(family, d, seed=seed)
    name = "full" if subspace is None else name_of(subspace)
    with progress_of(f"{problem}, d = {d}, p = {p}", 100) as advance:
        found = sampled(
            arrays, chains, steps=steps, seed=seed, family=subspace or "full", method=method, with_volume=volume,
            progress=lambda done, words: advance(done, ""),
        )  # fmt: skip
    m = arrays.outputs.shape[-2]
    # Only where the outputs show all or d (M - 1) directions of a family by its name is its dimension known.
    room = (
        float(memories_seen(name, d, answers=m, decoupled=arrays.decoupled).delta)
        if name == "full"
        else float(found.dimension)
    )
    expected = facts_free_entropy(p, m, room)
    record: dict[str, object] = {
        "problem": problem, "d": d, "p": p, "seed": seed, "answers": m, "family": name, "dimension": found.dimension,
        "mixed": found.mixing.mixed, "r_hat": found.mixing.r_hat,
        "effective_samples": found.mixing.effective_samples,
        "autocorrelation_time": found.mixing.autocorrelation_time,
        "overlap": found.overlap and found.overlap.value, "overlap_error": found.overlap and found.overlap.error,
        "overlap_predicted": float(expected.q) * room / found.dimension,
        "free_entropy": found.volume and found.volume.log.value / room,
        "free_entropy_error": found.volume and found.volume.log.error / room,
        "free_entropy_predicted": float(expected.phi),
        "log_volume": found.volume and found.volume.log.value,
        "chains": chains, "steps": found.steps, "passes": found.passes, "method": method, "seconds": found.seconds,
    }  # fmt: skip
    if json:
        print_json(record)
    else:
        shown = {name: f"{value:.5g}" if isinstance(value, float) else str(value) for name, value in record.items()}
        print_pairs(f"Memories that store p = {p} associations, d = {d}", shown)
    if volume and found.mixing.mixed and found.volume is None:
        say("The free entropy is not known: few memories that store one association less store all, and none was seen.")
    if not found.mixing.mixed:
        say(f"The chains have not mixed (R-hat {found.mixing.r_hat:.3g}), so nothing is averaged: give more --steps.")
        raise typer.Exit(NOT_MIXED_CODE)
