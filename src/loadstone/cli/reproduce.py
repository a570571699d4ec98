"""loadstone reproduce: sweeps of the catalogue, and the figures of their records."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Optional

import typer

from loadstone.arguments import choice, whole
from loadstone.cli.output import ends_like_an_interrupt, say, sweep_bar
from loadstone.files import check_writable, write_whole

#: Figures that can be drawn, with the sweep of the catalogue that each one reads.
_FIGURES = {"accuracy": "accuracy", "storable": "capacity"}


def reproduce(
    out: Annotated[str, typer.Option(help="Folder for figures and records; made if missing.")] = "out",
    scale: Annotated[str, typer.Option(help="quick, or paper for the paper's own sizes.")] = "quick",
    figure: Annotated[str, typer.Option(help="accuracy, storable or all.")] = "all",
    seeds: Annotated[Optional[int], typer.Option(help="Only so many seeds of each point.")] = None,
    workers: Annotated[Optional[int], typer.Option(help="Processes; default: one per core.")] = None,
    store: Annotated[Optional[str], typer.Option(help="Folder of the records; default: store in --out.")] = None,
) -> None:
    """Draw accuracy against load (both problems, full and factored memories, the Hebbian rule) and the certified
    probability of being storable against the prediction. Started again, it runs only what its store lacks."""
    most = whole("seeds", seeds, 1) if seeds is not None else 2**64
    workers = len(os.sched_getaffinity(0)) if workers is None else whole("workers", workers, 1, 1024)
    choice("figure", figure, (*_FIGURES, "all"))
    choice("scale", scale, ("quick", "paper"))
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"out is {out!r}, which is a file: give the name of a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    names = list(_FIGURES) if figure == "all" else [figure]
    for name in names:
        check_writable(folder / f"{name}.json")

    from loadstone.experiments.catalogue import named_sweep
    from loadstone.experiments.engines.local import LocalEngine
    from loadstone.experiments.store import Store
    from loadstone.experiments.sweep import run_sweep

    records = Store(store or folder / "store")
    sweeps = {name: [spec for spec in named_sweep(_FIGURES[name], scale) if spec.seed < most] for name in names}
    with ends_like_an_interrupt(), sweep_bar("reproduce") as watch:
        outcome = run_sweep([spec for specs in sweeps.values() for spec in specs], records, LocalEngine(workers), watch)
    if not outcome.complete:
        reason = outcome.stopped or "; ".join(list(outcome.failed.values())[:3])
        raise ValueError(f"{outcome.missing} of {outcome.total} runs are missing: {reason}")
    summaries = records.summaries()
    for name in names:
        rows = [summaries[spec.key]["spec"] | summaries[spec.key]["result"] for spec in sweeps[name]]
        for path in _draw(name, _without_diverged(rows), folder):
            say(f"Written: {path}")


def _draw(name: str, rows: list[dict], folder: Path) -> list[Path]:
    from loadstone.figures.accuracy import draw_accuracy
    from loadstone.figures.storable import draw_storable

    data = rows if name == "accuracy" else _by_stream(rows)
    text = json.dumps(data, indent=1).encode()
    write_whole(folder / f"{name}.json", lambda file: file.write(text))
    return (draw_accuracy if name == "accuracy" else draw_storable)(data, folder / name)


def _without_diverged(rows: list[dict]) -> list[dict]:
    kept = [row for row in rows if row["status"] != "diverged"]
    if len(kept) < len(rows):
        say(f"{len(rows) - len(kept)} runs diverged and are left out of the figures.")
    return kept


def _by_stream(rows: list[dict]) -> dict[str, list[dict]]:
    """Exact capacities, one list per kind and dimension; trained runs beside them."""
    capacities = defaultdict(list)
    for row in rows:
        if row["solver"] == "capacity":
            capacities[row["problem"], row["d"]].append(row["p_c"])
    proved = [{"problem": problem, "d": d, "streams": len(p_c), "p_c": p_c} for (problem, d), p_c in capacities.items()]
    return {"capacities": proved, "trained": [row for row in rows if row["solver"] == "adam"]}
