"""loadstone status: what a store holds, and which runs of a grid are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from loadstone.arguments import whole
from loadstone.cli import options
from loadstone.cli.output import duration, print_json, print_pairs, say

if TYPE_CHECKING:
    from loadstone.runs.spec import Spec


def status(
    store: Annotated[str, typer.Option(help="Folder of the records.")],
    grid: Annotated[Optional[str], typer.Argument(help="A grid (.toml), or the name of a sweep.")] = None,
    scale: options.NamedScale = "quick",
    workers: Annotated[int, typer.Option(help="How many processes will share the rest.")] = 1,
    json: options.Json = False,
) -> None:
    """Count the records of a store; with a grid, also its missing runs and how long they will take."""
    whole("workers", workers, 1)
    records = options.existing_store(store)

    from loadstone.studies.registry import specs_of

    summaries = records.summaries()
    counts: dict[str, object] = {"records": len(summaries)}
    if grid is not None:
        specs = specs_of(grid, scale)
        keys = {spec.key for spec in specs}
        missing = [spec for spec in specs if spec.key not in summaries]
        summaries = {key: summary for key, summary in summaries.items() if key in keys}
        left = _seconds_left(summaries.values(), missing, workers)
        counts |= {"total": len(specs), "done": len(summaries), "missing": len(missing), "seconds_left": left}
    statuses = Counter(str(summary["result"].get("status")) for summary in summaries.values())
    counts |= {"diverged": statuses["diverged"], "quarantined": len(records.quarantined()), "statuses": dict(statuses)}
    if json:
        print_json(counts)
        return
    for why in records.quarantined()[:10]:
        say(f"quarantined: {why}")
    print_pairs(str(store), {name.replace("_", " "): _words(name, value) for name, value in counts.items()})


def _seconds_left(summaries: Iterable[Mapping], missing: Sequence[Spec], workers: int) -> float | None:
    """How long the missing runs will take on the device that most recorded runs used, at the pace of these."""
    from loadstone.runs.plan import cost
    from loadstone.runs.spec import Spec

    timed: dict[str, list[tuple[float, Spec]]] = {}
    for summary in summaries:
        seconds, device = summary["circumstances"].get("seconds"), summary["circumstances"].get("device", "cpu")
        if isinstance(seconds, float):
            timed.setdefault(str(device), []).append((seconds, Spec.from_identity(summary["spec"])))
    if not timed:
        return None
    device, runs = max(timed.items(), key=lambda item: len(item[1]))
    expected = sum(cost(spec, device) for _, spec in runs)
    return sum(seconds for seconds, _ in runs) / expected * sum(cost(spec, device) for spec in missing) / workers


def _words(name: str, value: object) -> str:
    if name == "seconds_left":
        return duration(value) if isinstance(value, float) else "unknown"
    if isinstance(value, dict):
        return ", ".join(f"{count} {word}" for word, count in sorted(value.items())) or "none"
    return str(value)
