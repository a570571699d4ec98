"""loadstone reproduce: run the sweeps of figures, draw their records, and report what agrees with theory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

import loadstone
from loadstone.arguments import choice, whole
from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.output import say, sweep_bar
from loadstone.cli.workers import default_workers, engine_here
from loadstone.files import check_writable, write_whole
from loadstone.studies.kit.panels import check_installed
from loadstone.studies.registry import STUDIES, study_of

if TYPE_CHECKING:
    from loadstone.runs.pack import PackedStore
    from loadstone.runs.spec import Spec
    from loadstone.runs.store import Store
    from loadstone.studies.kit.rows import Row
    from loadstone.studies.kit.study import Study
    from loadstone.studies.report.numbers import Section


def reproduce(
    figures: Annotated[Optional[list[str]], typer.Argument(help=f"Of {', '.join(STUDIES)}; default: all.")] = None,
    out: Annotated[str, typer.Option(help="Folder for figures and records; made if missing.")] = "out",
    scale: Annotated[str, typer.Option(help="quick, or paper for the paper's own sizes.")] = "quick",
    seeds: Annotated[Optional[int], typer.Option(help="Only this many seeds of each point.")] = None,
    workers: Annotated[Optional[int], typer.Option(help="Processes; default: one per core, or one on a GPU.")] = None,
    store: Annotated[Optional[str], typer.Option(help="Folder of the records; default: store in --out.")] = None,
    from_shipped: Annotated[bool, typer.Option("--from-shipped", help="Draw the records of a checkout.")] = False,
) -> None:
    """Run the sweeps of the paper's figures, draw them, and report what agrees with theory.

    When it is started again, it runs only what is missing in its store.
    """
    most = whole("seeds", seeds, 1) if seeds is not None else 2**64
    workers = default_workers() if workers is None else whole("workers", workers, 1, 1024)
    choice("scale", scale, ("quick", "paper"))
    names = list(dict.fromkeys(choice("figure", name, tuple(STUDIES)) for name in figures or STUDIES))
    check_installed()
    studies = [study_of(name) for name in names]
    packed = _shipped(scale) if from_shipped else []
    folder = _folder(out)
    files = [f"{name}.{ending}" for name in names for ending in ("svg", "pdf", "png", "json")]
    for file in (*files, "report.html", "report.json", "explore.html"):
        check_writable(folder / file)

    from loadstone.runs.pack import PackedStore
    from loadstone.runs.store import Store

    wanted = {study.name: [spec for spec in dict.fromkeys(study.runs(scale)) if spec.seed < most] for study in studies}
    specs = list(dict.fromkeys(spec for runs in wanted.values() for spec in runs))
    own = Store(store or folder / "store") if store or not from_shipped else None
    if own and not from_shipped:
        _run(specs, own, workers)
    with PackedStore(packed) as shipped:
        rows = _rows(specs, [own, shipped] if own else [shipped])
    sections = [section for study in studies if (section := _section(study, wanted[study.name], rows, folder))]
    _report(sections, folder, scale)


def _folder(out: str) -> Path:
    folder = Path(out)
    if not out or (folder.exists() and not folder.is_dir()):
        what = "which is a file" if out else "which is empty"
        raise NotADirectoryError(f"out is {out!r}, {what}: give the name of a folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(f"out is {out!r}, where no folder can be made: {error.strerror}.") from error
    return folder


def _run(specs: list[Spec], records: Store, workers: int) -> None:
    from loadstone.runs.sweep import run_sweep

    with ends_like_an_interrupt(), sweep_bar("reproduce") as progress:
        outcome = run_sweep(specs, records, engine_here(workers), progress)
    if not outcome.complete:
        reason = outcome.stopped or "; ".join(list(outcome.failed.values())[:3])
        raise ValueError(f"{outcome.missing} of {outcome.total} runs are missing: {reason}")


def _shipped(scale: str) -> list[Path]:
    """The packed records of a checkout: of the current folder, or of the checkout that this package runs from."""
    results = [root / "results" for root in (Path.cwd(), Path(loadstone.__file__).parents[2])]
    for folder in results:
        if packed := sorted((folder / scale).glob("*.zip")):
            return packed
    if scales := sorted({file.parent.name for folder in results for file in folder.glob("*/*.zip")}):
        raise FileNotFoundError(f"scale is {scale!r}, but records are shipped for {', '.join(scales)} only.")
    raise FileNotFoundError(
        f"The shipped records are in the folder results/{scale} of loadstone's repository, not in the installed "
        "package: run this in a checkout of the repository."
    )


def _rows(specs: list[Spec], places: Sequence[Store | PackedStore]) -> dict[Spec, Row]:
    """The record of each spec, from the first of these places that has it. Each is read once, for all figures that show
    it."""
    from loadstone.studies.kit.rows import row_of

    rows = {}
    for spec in specs:
        record = next((record for place in places if (record := place.get(spec.key))), None)
        if record is not None:
            rows[spec] = row_of(record.spec, record.result, record.circumstances)
    return rows


def _section(study: Study, wanted: list[Spec], rows: dict[Spec, Row], folder: Path) -> Section | None:
    """Draw a study and compare its numbers. If there is nothing to draw, say so and return None."""
    from loadstone.studies.kit.multiple_tests import corrected
    from loadstone.studies.kit.panels import NothingToDrawError
    from loadstone.studies.report.numbers import Section

    usable = _usable(study.name, wanted, rows)
    try:
        if wanted and not usable:
            raise NothingToDrawError("there are no records of its runs")
        points = study.points(usable)
        written = study.write(points, folder / study.name)
    except NothingToDrawError as error:
        say(f"{study.name} is not drawn: {error}.")
        return None
    say(f"Written: {', '.join(map(str, written))}")
    compared = corrected(study.compare(points))
    return Section(
        study, written[0].read_bytes(), len(usable), len(wanted), compared, study.remarks(points), _times(usable)
    )


def _usable(name: str, wanted: list[Spec], rows: dict[Spec, Row]) -> list[Row]:
    """The rows of runs that have a record and did not diverge. Prints how many others there are."""
    recorded = [rows[spec] for spec in wanted if spec in rows]
    usable = [row for row in recorded if row["status"] != "diverged"]
    if len(usable) < len(recorded):
        say(f"{name}: {len(recorded) - len(usable)} of {len(wanted)} runs diverged and are left out.")
    if len(recorded) < len(wanted):
        say(f"{name}: {len(wanted) - len(recorded)} of {len(wanted)} runs are not among the shipped records.")
    return usable


def _times(rows: list[Row]) -> dict[str, float]:
    """Seconds that the runs took, by device."""
    times: Counter[str] = Counter()
    for row in rows:
        times[str(row["circumstances"].get("device", "unknown"))] += row["circumstances"].get("seconds", 0.0)
    return dict(times)


def _report(sections: list[Section], folder: Path, scale: str) -> None:
    """Write the report, its numbers, and the interactive page."""
    from loadstone.pages.explorer import explorer_page
    from loadstone.studies.report.html import report_page
    from loadstone.studies.report.numbers import report_numbers, report_text

    numbers = report_numbers(sections, scale, loadstone.__version__)
    pages = {"report.html": report_page(sections, scale, loadstone.__version__), "report.json": report_text(numbers)}
    for name, text in (pages | {"explore.html": explorer_page()}).items():
        write_whole(folder / name, lambda file: file.write(text.encode()))  # noqa: B023 (called at once)
        say(f"Written: {folder / name}")
