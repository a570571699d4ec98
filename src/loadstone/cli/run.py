"""loadstone run: run the specs of a grid and record the results in a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from loadstone.arguments import choice, positive, whole
from loadstone.cli import options
from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.output import duration, print_json, say, sweep_bar
from loadstone.cli.workers import default_workers, engine_here

if TYPE_CHECKING:
    from loadstone.runs.sweep import Engine, Outcome


def run(
    grid: Annotated[str, typer.Argument(help="A grid (.toml), or the name of a sweep: accuracy, paper, all...")],
    store: Annotated[str, typer.Option(help="Folder of the records; made if missing.")],
    scale: options.NamedScale = "quick",
    workers: Annotated[
        Optional[int],
        typer.Option(help="1: in this process; more: processes through Dask. Default: one per core, or one on a GPU."),
    ] = None,
    engine: Annotated[str, typer.Option(help="auto (by --workers), process or dask.")] = "auto",
    budget: Annotated[Optional[str], typer.Option(help="Memory a problem may take, such as 8GiB.")] = None,
    scheduler_file: Annotated[Optional[str], typer.Option(help="Scheduler elsewhere: file that it wrote.")] = None,
    address: Annotated[Optional[str], typer.Option(help="Scheduler elsewhere: such as tcp://127.0.0.1:8786.")] = None,
    resource: Annotated[Optional[str], typer.Option(help="What each run needs from its worker, such as GPU.")] = None,
    patience: Annotated[float, typer.Option(help="Seconds to wait without any usable worker.")] = 60.0,
    tls_ca: Annotated[Optional[str], typer.Option(help="Scheduler elsewhere: certificate authority (.pem).")] = None,
    tls_cert: Annotated[Optional[str], typer.Option(help="Scheduler elsewhere: our certificate (.pem).")] = None,
    tls_key: Annotated[Optional[str], typer.Option(help="Scheduler elsewhere: our key (.pem).")] = None,
    trust_network: Annotated[bool, typer.Option(help="Allow tcp:// to another machine without TLS.")] = False,
    json: options.Json = False,
) -> None:
    """Run the specs of a grid that have no record in the store, and write their records. Start it again to go on."""
    choice("engine", engine, ("auto", "process", "dask"))
    choice("scale", scale, ("quick", "paper"))
    positive("patience", patience)
    elsewhere = bool(scheduler_file or address)
    if not elsewhere and (resource or tls_ca or tls_cert or tls_key or trust_network):
        raise ValueError("--resource, --tls-... and --trust-network need --scheduler-file or --address.")
    if elsewhere and workers is not None:
        raise ValueError(f"workers is {workers}, but a scheduler elsewhere has its own: leave --workers out.")
    if engine == "process" and (elsewhere or workers not in (None, 1)):
        raise ValueError("engine is 'process', which has one worker and no scheduler: leave --engine out.")
    if workers is None:
        workers = 1 if engine == "process" else default_workers()
    whole("workers", workers, 1, 1024)

    from loadstone.runs.store import Store
    from loadstone.runs.sweep import run_sweep
    from loadstone.studies.registry import specs_of

    specs = specs_of(grid, scale)
    allowed = options.budget_from(budget)
    limit = None if allowed is None else allowed.bytes
    if elsewhere or engine == "dask":
        from loadstone.runs.engines.dask import DaskEngine, Elsewhere, ThisMachine

        remote = Elsewhere(scheduler_file, address, tls_ca, tls_cert, tls_key, trust_network) if elsewhere else None
        in_use: Engine = DaskEngine(remote or ThisMachine(workers), resource, patience, limit)
    else:
        in_use = engine_here(workers, limit)
    records = Store(store)
    try:
        with ends_like_an_interrupt(), sweep_bar(grid) as progress:
            outcome = run_sweep(specs, records, in_use, progress)
    except KeyboardInterrupt:
        left = len(records.missing([spec.key for spec in specs]))
        say(f"{len(specs) - left} of {len(specs)} runs are recorded; start again to run the rest.")
        raise
    report(outcome, json)
    if not outcome.complete:
        raise typer.Exit(1)


def report(outcome: Outcome, json: bool) -> None:
    """Print how a sweep has ended."""
    if outcome.quarantined:
        say(f"{outcome.quarantined} damaged records were set aside and their runs repeated.")
    if outcome.lost_workers:
        say(f"{outcome.lost_workers} workers were lost; their runs were given to others.")
    for why in list(outcome.failed.values())[:10]:
        say(f"failed: {why}")
    if len(outcome.failed) > 10:
        say(f"failed: {len(outcome.failed) - 10} more.")
    if outcome.stopped:
        say(f"stopped: {outcome.stopped}")
    if outcome.diverged:
        say(f"{outcome.diverged} runs diverged; their records say so.")
    took = duration(outcome.seconds)
    state = "complete" if outcome.complete else f"{outcome.missing} missing, start again to run them"
    say(f"{outcome.total} runs: {outcome.before} were recorded before, {outcome.done} done in {took}; {state}.")
    if json:
        names = ("total", "before", "done", "diverged", "missing", "lost_workers", "quarantined", "seconds", "stopped")
        values = {name: getattr(outcome, name) for name in names}
        print_json(values | {"complete": outcome.complete, "failed": list(outcome.failed.values())})
