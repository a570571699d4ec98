"""loadstone train: store the associations of one or several seeds and measure what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Optional

import typer

from loadstone.arguments import file_name, rank_fraction, refuse, whole
from loadstone.cli.output import print_json, print_table, progress_of, say
from loadstone.cli.size import associations_from
from loadstone.files import check_writable
from loadstone.theory.load import load as alpha


def train(
    d: Annotated[int, typer.Option(help="Dimension of the embeddings.")],
    problem: Annotated[str, typer.Option(help="original, decoupled or groups:8.")] = "original",
    p: Annotated[Optional[int], typer.Option("--p", "--facts", help="Number of associations.")] = None,
    load: Annotated[Optional[float], typer.Option(help="Load p log p / d^2, instead of --p.")] = None,
    kappa: Annotated[float, typer.Option(help="Rank fraction m / d, in (0, 1].")] = 1.0,
    family: Annotated[str, typer.Option(help="Family of W: full, symmetric, masked:0.5, blocks:8, psd...")] = "full",
    law: Annotated[str, typer.Option(help="gaussian, sphere, rademacher, power law:1.")] = "gaussian",
    answers: Annotated[Optional[int], typer.Option(help="Number of outputs; default: as many as inputs.")] = None,
    frequencies: Annotated[
        str, typer.Option(help="How often each answer is a target: uniform, balanced, zipf:s or a file of numbers.")
    ] = "uniform",
    seed: Annotated[int, typer.Option(help="First seed.")] = 0,
    seeds: Annotated[int, typer.Option(help="How many seeds, one after the other from --seed.")] = 1,
    solver: Annotated[str, typer.Option(help="lbfgs, paper, hebbian, perceptron, minibatch, adam...")] = "lbfgs",
    stop: Annotated[
        Optional[str],
        typer.Option(help="exact (all margins positive), paper (99.9 % accuracy), 99% or none; default: the solver's."),
    ] = None,
    learning_rate: Annotated[Optional[float], typer.Option(help="Of an optimiser; default: its own.")] = None,
    batch: Annotated[Optional[int], typer.Option(help="Associations a move, of minibatch and perceptron.")] = None,
    steps: Annotated[Optional[int], typer.Option(help="Steps of the paper's schedule; default: 512.")] = None,
    warmup: Annotated[Optional[int], typer.Option(help="Steps of its linear warm-up; default: 32.")] = None,
    density: Annotated[Optional[float], typer.Option(help="Share of the entries of W that pruning leaves.")] = None,
    rounds: Annotated[Optional[int], typer.Option(help="How often pruning prunes.")] = None,
    passes: Annotated[Optional[int], typer.Option(help="Most passes over the outputs.")] = None,
    seconds: Annotated[
        Optional[float],
        typer.Option(help="Most seconds of a search. Compilation counts, but is not cut short, nor is the first pass."),
    ] = None,
    precision: Annotated[
        str, typer.Option(help="Products: auto, float64, float32, tf32, split, float16, bfloat16.")
    ] = "auto",
    hold: Annotated[str, typer.Option(help="Decoupled outputs: auto, stored or regenerated.")] = "auto",
    stored_dtype: Annotated[str, typer.Option(help="Stored decoupled outputs: float32 or float16.")] = "float32",
    budget: Annotated[Optional[str], typer.Option(help="Memory a problem may take, such as 8GiB.")] = None,
    devices: Annotated[Optional[int], typer.Option(help="Spread each problem over so many devices.")] = None,
    coordinator: Annotated[
        Optional[str], typer.Option(help="Be one of several processes: host:port of the first, or auto (SLURM).")
    ] = None,
    processes: Annotated[Optional[int], typer.Option(help="How many processes there are.")] = None,
    process: Annotated[Optional[int], typer.Option(help="Which of them this is, from 0.")] = None,
    checkpoint: Annotated[
        Optional[str], typer.Option(help="File (.npz) that the search is kept in; the same command goes on from it.")
    ] = None,
    out: Annotated[Optional[str], typer.Option(help="File for the memory (.safetensors), {seed} for several.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Store p associations in a d x d memory and measure how many it recalls."""
    p = associations_from(p, load, d)
    rank_fraction("kappa", kappa)
    whole("seed", seed, 0)
    whole("seeds", seeds, 1, 10**6)
    if out is not None and file_name("out", out) and seeds > 1 and "{seed}" not in out:
        raise ValueError(f"out is {out!r}, but must contain {{seed}} when --seeds is above 1.")
    files = [check_writable(out.replace("{seed}", str(seed + i))) for i in range(seeds)] if out is not None else []

    if checkpoint is not None:
        check_checkpoint(checkpoint, seeds)
    # Heavy imports come after the first checks, so that a mistake is reported at once.
    from loadstone.cli.devices import devices_of
    from loadstone.cli.train_runs import about, run_all, summary
    from loadstone.frequencies import read_frequencies
    from loadstone.hosts import is_first
    from loadstone.memories.files import save_memory
    from loadstone.problems.budget import Budget
    from loadstone.runs.spec import Spec
    from loadstone.solvers.registry import solver_of
    from loadstone.solvers.stop import Limits

    given = {"learning_rate": learning_rate, "batch": batch, "steps": steps, "warmup": warmup}
    given |= {"density": density, "rounds": rounds}
    parameters = {name: value for name, value in given.items() if value is not None}
    stop = solver_of(solver, parameters).stop() if stop is None else stop
    specs = [
        Spec(
            problem, d, p, seed + i, kappa, law, solver, parameters, stop, precision, family, hold, stored_dtype,
            answers, read_frequencies(frequencies),
        )
        for i in range(seeds)
    ]  # fmt: skip
    allowed = Budget.parse(budget) if budget is not None else None
    over = devices_of(devices, coordinator, processes, process)
    with kept_in(checkpoint), progress_of(f"{problem}, d = {d}, p = {p}", seeds * specs[0].passes) as advance:
        told = advance if is_first() else None
        runs = run_all(specs, allowed, told, Limits(passes, seconds), checkpoint, over)
    if not is_first():  # of several processes one speaks for all
        return
    for file, run in zip(files, runs):
        save_memory(file, run.solution.memory, about(run.spec))
    if json:
        print_json(summary(runs))
    else:
        say(f"Problem: {runs[0].description}.")
        title = f"p = {p}, d = {d}, load {alpha(p, d):.4f}, kappa {specs[0].kappa}"
        print_table(title, [run.outcome() for run in runs])


def check_checkpoint(checkpoint: str, seeds: int) -> None:
    file_name("checkpoint", checkpoint)
    if not checkpoint.endswith(".npz"):
        raise refuse("checkpoint", checkpoint, "the name of a file that ends in .npz")
    if seeds > 1:
        raise refuse("seeds", seeds, "1 with --checkpoint, which holds one search")
    check_writable(checkpoint)


@contextmanager
def kept_in(checkpoint: str | None) -> Iterator[None]:
    """Say where an interrupted search is kept."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None and Path(checkpoint).exists():
            say(f"The search so far is in {checkpoint}: the same command goes on from there.")
        raise
