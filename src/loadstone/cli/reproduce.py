"""loadstone reproduce: a small sweep over load, and the figure of its transition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from loadstone.arguments import whole
from loadstone.cli.output import progress_of, say
from loadstone.files import check_writable


def reproduce(
    out: Annotated[str, typer.Option(help="Folder for records and figures; made if missing.")] = "out",
    seeds: Annotated[int, typer.Option(help="Independent draws of each point.")] = 3,
) -> None:
    """Sweep the load for both problems, full and factored memories and the Hebbian rule; draw accuracy against load."""
    whole("seeds", seeds, 1)
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"out is {out!r}, which is a file: give the name of a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(folder / "accuracy.json")

    from loadstone.experiments.catalogue import accuracy_sweep
    from loadstone.experiments.run import run_all
    from loadstone.figures.accuracy import draw_accuracy
    from loadstone.files import write_whole

    specs = accuracy_sweep(seeds)
    total = sum(spec.protocol.steps if spec.solver == "adam" else 1 for spec in specs)
    records: list[dict] = []
    with progress_of(f"{len(specs)} runs", total) as advance:
        records = [run.record() for run in run_all(specs, advance=advance)]
    write_whole(folder / "accuracy.json", lambda file: file.write(json.dumps(records, indent=1).encode()))
    for path in draw_accuracy(records, folder / "accuracy"):
        say(f"Written: {path}")
