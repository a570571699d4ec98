"""loadstone reproduce: sweeps of the catalogue, and the figures of their records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Optional

import typer

import loadstone
from loadstone.arguments import choice, whole
from loadstone.cli.output import ends_like_an_interrupt, say, sweep_bar
from loadstone.cli.workers import default_workers, engine_here
from loadstone.files import check_writable, write_whole

#: The figures of `loadstone.figures.gallery`, which takes a second to import.
FIGURES = (
    "equivalence", "accuracy", "spectra", "scores", "single", "loss", "finite-size", "initial-spectra", "hebbian",
    "capacity", "curves", "phase", "beyond", "entropy",
)  # fmt: skip


def reproduce(
    figures: Annotated[Optional[list[str]], typer.Argument(help=f"Of {', '.join(FIGURES)}; default: all.")] = None,
    out: Annotated[str, typer.Option(help="Folder for figures and records; made if missing.")] = "out",
    scale: Annotated[str, typer.Option(help="quick, or paper for the paper's own sizes.")] = "quick",
    seeds: Annotated[Optional[int], typer.Option(help="Only so many seeds of each point.")] = None,
    workers: Annotated[Optional[int], typer.Option(help="Processes; default: one per core, or one on a GPU.")] = None,
    store: Annotated[Optional[str], typer.Option(help="Folder of the records; default: store in --out.")] = None,
    from_shipped: Annotated[bool, typer.Option("--from-shipped", help="Draw the records of a checkout.")] = False,
) -> None:
    """Run the sweeps of the paper's figures, draw them, and report what agrees with theory.

    Started again, it runs only what its store lacks.
    """
    most = whole("seeds", seeds, 1) if seeds is not None else 2**64
    workers = default_workers() if workers is None else whole("workers", workers, 1, 1024)
    choice("scale", scale, ("quick", "paper"))
    names = [choice("figure", name, FIGURES) for name in figures or FIGURES]
    packed = _shipped(scale) if from_shipped else []
    folder = _folder(out)
    figures = [f"{name}.{ending}" for name in names for ending in ("svg", "pdf", "png", "json")]
    for name in (*figures, "report.html", "report.json", "explore.html"):
        check_writable(folder / name)

    from loadstone.experiments.catalogue import named_sweep
    from loadstone.experiments.store import Store
    from loadstone.experiments.sweep import recorded

    sweeps = {name: [spec for spec in named_sweep(name, scale) if spec.seed < most] for name in names}
    records = Store(store or folder / "store")
    if from_shipped:
        _unpack(packed, records)
    else:
        _run([spec for specs in sweeps.values() for spec in specs], records, workers)
    rows = {name: _usable(name, [recorded(spec, records) for spec in specs]) for name, specs in sweeps.items()}
    _draw(rows, {name: len(specs) for name, specs in sweeps.items()}, folder, scale)


def _folder(out: str) -> Path:
    folder = Path(out)
    if not out or (folder.exists() and not folder.is_dir()):
        what = "which is a file" if out else "which is no name"
        raise NotADirectoryError(f"out is {out!r}, {what}: give the name of a folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(f"out is {out!r}, where no folder can be made: {error.strerror}.") from error
    return folder


def _run(specs: list, records, workers: int) -> None:
    from loadstone.experiments.sweep import run_sweep

    with ends_like_an_interrupt(), sweep_bar("reproduce") as watch:
        outcome = run_sweep(specs, records, engine_here(workers), watch)
    if not outcome.complete:
        reason = outcome.stopped or "; ".join(list(outcome.failed.values())[:3])
        raise ValueError(f"{outcome.missing} of {outcome.total} runs are missing: {reason}")


def _shipped(scale: str) -> list[Path]:
    """Packed records that come with a checkout: of the present folder, or of the one that this package runs from."""
    places = [root / "results" / scale for root in (Path.cwd(), Path(loadstone.__file__).parents[2])]
    packed = next((files for place in places if (files := sorted(place.glob("*.zip")))), None)
    if packed is None:
        raise FileNotFoundError(f"results/{scale} has no packed records here: run this in a checkout of loadstone.")
    return packed


def _unpack(packed: list[Path], records) -> None:
    from loadstone.experiments.unpack import unpack

    for file in packed:
        found = unpack(file, records)
        say(f"{file}: {found.added + found.already_there} records.")


def _usable(name: str, found: list) -> list[dict]:
    """The rows of the records that are there and did not diverge; a line says how many are not."""
    rows = [record.spec | record.result | {"circumstances": record.circumstances} for record in found if record]
    kept = [row for row in rows if row["status"] != "diverged"]
    if len(kept) < len(rows):
        say(f"{name}: {len(rows) - len(kept)} runs diverged and are left out.")
    if len(rows) < len(found):
        say(f"{name}: {len(found) - len(rows)} of {len(found)} runs are not among the shipped records.")
    return kept


def _draw(rows: dict[str, list[dict]], wanted: dict[str, int], folder: Path, scale: str) -> None:
    from loadstone.figures.comparisons import COMPARISONS
    from loadstone.figures.gallery import GALLERY
    from loadstone.figures.style import NothingToDrawError
    from loadstone.pages.explorer import explorer_page
    from loadstone.pages.report import Section, report_page

    sections = []
    for name, found in rows.items():
        try:
            if wanted[name] and not found:
                raise NothingToDrawError("there are no records of its runs")
            written = GALLERY[name](found, folder / name)
        except NothingToDrawError as error:
            say(f"{name} is not drawn: {error}.")
            continue
        comparisons = COMPARISONS[name](found) if name in COMPARISONS else []
        times = _times(found)
        sections.append(Section(name, written[0].read_bytes(), len(found), wanted[name], comparisons, times))
        say(f"Written: {', '.join(map(str, written))}")
    _write(folder / "report.html", report_page(sections, scale, loadstone.__version__))
    judged = [one.as_row() | {"figure": section.name} for section in sections for one in section.comparisons]
    _write(folder / "report.json", json.dumps(judged, indent=1, allow_nan=False))
    _write(folder / "explore.html", explorer_page())


def _times(rows: list[dict]) -> dict[str, float]:
    """Seconds that the runs took, by device."""
    times: dict[str, float] = {}
    for circumstances in (row["circumstances"] for row in rows):
        device = str(circumstances.get("device", "unknown"))
        times[device] = times.get(device, 0.0) + float(circumstances.get("seconds", 0.0))
    return times


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()))
    say(f"Written: {path}")
