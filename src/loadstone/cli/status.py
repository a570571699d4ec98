"""loadstone status: what a store holds, and what a grid still lacks."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Annotated, Optional

import typer

from loadstone.arguments import whole
from loadstone.cli.output import print_json, print_pairs, say


def status(
    store: Annotated[str, typer.Option(help="Folder of the records.")],
    grid: Annotated[Optional[str], typer.Argument(help="A grid (.toml), or a name of the catalogue.")] = None,
    scale: Annotated[str, typer.Option(help="Of a name in the catalogue: quick or paper.")] = "quick",
    workers: Annotated[int, typer.Option(help="How many work at once, for the time left.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Count the records of a store, and what is missing of a grid with the time that it will take."""
    whole("workers", workers, 1)
    if not Path(store).is_dir():
        raise NotADirectoryError(f"store is {store!r}, which is not a folder: give the one that `run` wrote to.")

    from loadstone.experiments.catalogue import specs_of
    from loadstone.experiments.plan import cost
    from loadstone.experiments.spec import Spec
    from loadstone.experiments.store import Store

    records = Store(store)
    summaries = records.summaries()
    found: dict[str, object] = {"records": len(summaries)}
    if grid is not None:
        specs = specs_of(grid, scale)
        keys = {spec.key for spec in specs}
        missing = [spec for spec in specs if spec.key not in summaries]
        summaries = {key: summary for key, summary in summaries.items() if key in keys}
        seconds = sum(float(summary["circumstances"]["seconds"]) for summary in summaries.values())
        expected = sum(cost(Spec.from_identity(summary["spec"])) for summary in summaries.values())
        left = seconds / expected * sum(map(cost, missing)) / workers if expected else None
        found |= {"total": len(specs), "done": len(summaries), "missing": len(missing), "seconds_left": left}
    statuses = Counter(str(summary["result"].get("status")) for summary in summaries.values())
    found |= {"diverged": statuses["diverged"], "quarantined": len(records.quarantined()), "statuses": dict(statuses)}
    if json:
        print_json(found)
        return
    for why in records.quarantined()[:10]:
        say(f"quarantined: {why}")
    print_pairs(str(store), {name.replace("_", " "): _words(name, value) for name, value in found.items()})


def _words(name: str, value: object) -> str:
    if name == "seconds_left":
        return "unknown" if value is None else time.strftime("%H:%M:%S", time.gmtime(value))
    if isinstance(value, dict):
        return ", ".join(f"{count} {word}" for word, count in sorted(value.items())) or "none"
    return str(value)
