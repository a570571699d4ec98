"""loadstone sample: the set of all memories that store an instance, compared with the prediction."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from loadstone.arguments import whole
from loadstone.cli import options
from loadstone.cli.output import UNDECIDED, print_json, print_pairs, progress_of, say
from loadstone.problems.kinds import check_kind


def sample(
    d: options.DimensionOrFile = None,
    p: options.Size = None,
    load: options.Load = None,
    problem: options.Kind = "original",
    seed: Annotated[int, typer.Option(help="Which stream of associations; also the seed of the chains.")] = 0,
    law: options.Law = "gaussian",
    answers: options.Answers = None,
    frequencies: options.Frequencies = "uniform",
    instance: Annotated[Optional[str], typer.Option(help="An .npz of inputs, outputs (and targets), instead.")] = None,
    family: options.LinearFamily = "full",
    chains: Annotated[int, typer.Option(help="Independent chains, at least 2.")] = 4,
    steps: Annotated[Optional[int], typer.Option(help="Steps of each chain; default: 320 or 400000.")] = None,
    method: Annotated[str, typer.Option(help="reflections, or slices, which is far slower.")] = "reflections",
    volume: Annotated[bool, typer.Option(help="Find the free entropy too, which takes longer.")] = True,
    json: options.Json = False,
) -> None:
    """Sample all memories that store the facts: overlap and free entropy. Exit code 3 if chains have not mixed."""
    options.check_given_once(instance, d, p, load, answers)
    problem = check_kind(problem)
    whole("seed", seed, 0, 2**31 - 1)
    whole("chains", chains, 2, 4096)
    if steps is not None:
        whole("steps", steps, 2, 10**9)
    if d is not None:
        p = options.associations_from(p, load, d)

    from loadstone.memories.families import subspace_of
    from loadstone.memories.subspaces.registry import name_of
    from loadstone.problems.instance_files import read_instance
    from loadstone.space.sample import sample as sampled
    from loadstone.theory.answers import memories_seen
    from loadstone.theory.entropy import facts_free_entropy

    if instance is None:
        assert d is not None and p is not None
        arrays = options.drawn_instance(
            d, p, problem=problem, seed=seed, law=law, answers=answers, frequencies=frequencies
        ).arrays()
    else:
        arrays = read_instance(instance)
        problem = "decoupled" if arrays.decoupled else "original"
    p, d = arrays.inputs.shape
    subspace = subspace_of(family, d, seed=seed)
    name = "full" if subspace is None else name_of(subspace)
    with progress_of(f"{problem}, d = {d}, p = {p}", 100) as progress:
        samples = sampled(
            arrays, chains, steps=steps, seed=seed, family=subspace or "full", method=method, with_volume=volume,
            progress=lambda done, words: progress(done, ""),
        )  # fmt: skip
    m, dimension = arrays.outputs.shape[-2], samples.dimension
    # Only where the outputs show all or d (M - 1) directions of a family by its name is its dimension known.
    room = float(memories_seen(name, d, answers=m, decoupled=arrays.decoupled).delta if name == "full" else dimension)
    expected = facts_free_entropy(p, m, room)
    mixing, overlap, log_volume = samples.mixing, samples.overlap, samples.volume and samples.volume.log
    record: dict[str, object] = {
        "problem": problem, "d": d, "p": p, "seed": seed, "answers": m, "family": name, "dimension": dimension,
        "mixed": mixing.mixed, "r_hat": mixing.r_hat, "effective_samples": mixing.effective_samples,
        "autocorrelation_time": mixing.autocorrelation_time,
        "overlap": overlap and overlap.value, "overlap_error": overlap and overlap.error,
        "overlap_predicted": float(expected.q) * room / dimension,
        "free_entropy": log_volume and log_volume.value / room,
        "free_entropy_error": log_volume and log_volume.error / room,
        "free_entropy_predicted": float(expected.phi), "log_volume": log_volume and log_volume.value,
        "chains": chains, "steps": samples.steps, "passes": samples.passes, "method": method,
        "seconds": samples.seconds,
    }  # fmt: skip
    if json:
        print_json(record)
    else:
        shown = {name: f"{value:.5g}" if isinstance(value, float) else str(value) for name, value in record.items()}
        print_pairs(f"Memories that store p = {p} associations, d = {d}", shown)
    if volume and mixing.mixed and log_volume is None:
        say("The free entropy is not known: few memories that store one association less store all, and none was seen.")
    if not mixing.mixed:
        say(f"The chains have not mixed (R-hat {mixing.r_hat:.3g}), so nothing is averaged: give more --steps.")
        raise typer.Exit(UNDECIDED)
