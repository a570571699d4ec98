"""loadstone reproduce: sweeps, and the figures of their transitions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from loadstone.arguments import choice, whole
from loadstone.cli.output import progress_of, say
from loadstone.files import check_writable, write_whole

_FIGURES = ("accuracy", "storable")


def reproduce(
    out: Annotated[str, typer.Option(help="Folder for records and figures; made if missing.")] = "out",
    seeds: Annotated[int, typer.Option(help="Independent draws of each trained point.")] = 3,
    streams: Annotated[int, typer.Option(help="Streams whose exact capacity is proved, for each curve.")] = 40,
    figure: Annotated[str, typer.Option(help="accuracy, storable or all.")] = "all",
) -> None:
    """Draw accuracy against load (both problems, full and factored memories, the Hebbian rule) and the certified
    probability of being storable against the prediction."""
    whole("seeds", seeds, 1)
    whole("streams", streams, 1)
    choice("figure", figure, (*_FIGURES, "all"))
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"out is {out!r}, which is a file: give the name of a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for name in _FIGURES if figure == "all" else (figure,):
        check_writable(folder / f"{name}.json")
        records, draw = _accuracy(seeds) if name == "accuracy" else _storable(streams, seeds)
        text = json.dumps(records, indent=1).encode()
        write_whole(folder / f"{name}.json", lambda file: file.write(text))  # noqa: B023
        for path in draw(records, folder / name):
            say(f"Written: {path}")


def _accuracy(seeds: int) -> tuple[object, Callable]:
    from loadstone.experiments.catalogue import accuracy_sweep
    from loadstone.figures.accuracy import draw_accuracy

    return _trained(accuracy_sweep(seeds)), draw_accuracy


def _storable(streams: int, seeds: int) -> tuple[object, Callable]:
    from loadstone.experiments.catalogue import capacity_sweep, training_beside_verdicts
    from loadstone.experiments.storable import measure_capacities
    from loadstone.figures.storable import draw_storable

    specs = capacity_sweep(streams)
    with progress_of("exact capacities", sum(spec.streams for spec in specs)) as advance:
        capacities = measure_capacities(specs, advance)
    return {"capacities": capacities, "trained": _trained(training_beside_verdicts(max(seeds, 5)))}, draw_storable


def _trained(specs: list) -> list[dict]:
    from loadstone.experiments.run import run_all

    total = sum(spec.protocol.steps if spec.solver == "adam" else 1 for spec in specs)
    with progress_of(f"{len(specs)} runs", total) as advance:
        return [run.record() for run in run_all(specs, advance=advance)]
