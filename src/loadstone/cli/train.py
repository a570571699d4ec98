"""loadstone train: store the associations of one or several seeds and measure what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Optional

from loadstone.arguments import file_name, rank_fraction, refuse, whole
from loadstone.cli import options
from loadstone.cli.output import print_json, print_table, progress_of, say
from loadstone.files import check_writable
from loadstone.parameters import changed_parameters
from loadstone.progress import silent
from loadstone.theory.load import load as alpha


def train(
    d: options.Dimension,
    problem: options.Kind = "original",
    p: options.Size = None,
    load: options.Load = None,
    kappa: options.RankFraction = 1.0,
    family: options.AnyFamily = "full",
    law: options.Law = "gaussian",
    answers: options.Answers = None,
    frequencies: options.Frequencies = "uniform",
    seed: options.FirstSeed = 0,
    seeds: options.Seeds = 1,
    solver: Annotated[
        str, options.how(help="lbfgs, paper, hebbian, perceptron, minibatch, adam, pruning:0.25...")
    ] = "lbfgs",
    settings: options.Settings = None,
    stop: Annotated[
        Optional[str],
        options.how(help="exact (all margins positive), paper (99.9 % accuracy), 99% or none; default: the solver's."),
    ] = None,
    precision: Annotated[str, options.how(help="Products: auto, float64, float32, split, float16.")] = "auto",
    hold: Annotated[str, options.how(help="Decoupled outputs: auto, stored or regenerated.")] = "auto",
    stored_dtype: Annotated[str, options.how(help="Stored decoupled outputs: float32 or float16.")] = "float32",
    passes: Annotated[Optional[int], options.limits(help="Most passes over the outputs.")] = None,
    seconds: Annotated[
        Optional[float],
        options.limits(
            help="Most seconds of a search. Compilation counts, but is not cut short, nor is the first pass."
        ),
    ] = None,
    budget: options.ProblemBudget = None,
    devices: Annotated[Optional[int], options.devices(help="Spread each problem over this many devices.")] = None,
    coordinator: Annotated[
        Optional[str], options.devices(help="Run as one of several processes: host:port of the first, or auto (SLURM).")
    ] = None,
    processes: Annotated[Optional[int], options.devices(help="How many processes there are.")] = None,
    process: Annotated[Optional[int], options.devices(help="Which of them this is, from 0.")] = None,
    checkpoint: Annotated[
        Optional[str],
        options.output(help="File (.npz) in which the search is saved; the same command continues from it."),
    ] = None,
    out: Annotated[
        Optional[str], options.output(help="File for the memory (.safetensors), {seed} for several.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Store p associations in a d x d memory and measure how many it recalls."""
    p, parameters = options.associations_from(p, load, d), options.parameters_from(settings)
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
    from loadstone.runs.spec import Spec
    from loadstone.solvers.registry import solver_of
    from loadstone.solvers.stop import Limits

    solver, colon, _ = (text := solver).partition(":")
    if colon:  # parameters in the name, as in 'lbfgs:margin=0.02'
        parameters = changed_parameters(solver_of(text)) | parameters
    stop = solver_of(solver, parameters).stop() if stop is None else stop
    specs = [
        Spec(
            problem, d, p, seed + i, kappa, law, solver, parameters, stop, precision, family, hold, stored_dtype,
            answers, read_frequencies(frequencies),
        )
        for i in range(seeds)
    ]  # fmt: skip
    allowed, spread_over = options.budget_from(budget), devices_of(devices, coordinator, processes, process)
    with kept_in(checkpoint), progress_of(f"{problem}, d = {d}, p = {p}", seeds * specs[0].passes) as progress:
        runs = run_all(
            specs, allowed, progress if is_first() else silent, Limits(passes, seconds), checkpoint, spread_over
        )
    if not is_first():  # of several processes the first one writes for all
        return
    for file, run in zip(files, runs):
        save_memory(file, run.solution.memory, about=about(run.spec))
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
    """Print where an interrupted search is saved."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None and Path(checkpoint).exists():
            say(f"The search so far is in {checkpoint}: the same command goes on from there.")
        raise
