"""How commands speak: one JSON object on standard output, or words for people; progress on standard error."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table


def print_json(record: dict[str, object]) -> None:
    """Exactly one JSON object; numbers that JSON cannot hold (NaN, infinities) become null."""
    print(json.dumps(_finite(record), allow_nan=False))


def print_table(title: str, rows: list[dict[str, object]]) -> None:
    """A table for people, one row per run."""
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(f"{value:.6g}" if isinstance(value, float) else str(value) for value in row.values()))
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def print_pairs(title: str, rows: dict[str, str]) -> None:
    """A table for people, one quantity per row."""
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, value in rows.items():
        table.add_row(name, value)
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def say(sentence: str) -> None:
    """A line for people, out of the way of what programs read."""
    print(sentence, file=sys.stderr, flush=True)


@contextmanager
def progress_of(what: str, total: int) -> Iterator:
    """Yield `advance(done, words)`: a bar on a terminal, a plain line now and then otherwise."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, words: say(f"{what}: {done}/{total} {words}") if words else None
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, TextColumn("{task.fields[words]}"), console=console, transient=True) as bar:
        task = bar.add_task(what, total=total, words="")
        yield lambda done, words: bar.update(task, completed=done, words=words)


@contextmanager
def sweep_bar(what: str) -> Iterator:
    """Yield `watch(progress)` for a sweep: runs done, rate, time left, what is being run."""
    console = Console(stderr=True)
    if not console.is_terminal:
        spoken = [0.0]

        def watch(progress) -> None:
            if time.monotonic() - spoken[0] >= _SPEAK_SECONDS:
                spoken[0] = time.monotonic()
                say(f"{what}: {progress.before + progress.done}/{progress.total} runs, {_pace(progress)}")

        yield watch
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[words]}")
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None, words="starting workers")
        yield lambda progress: bar.update(
            task, total=progress.total, completed=progress.before + progress.done, words=_pace(progress)
        )


_SPEAK_SECONDS = 5.0


def _pace(progress) -> str:
    """Rate, time left and one of the current runs, in words."""
    if progress.seconds_left is None:
        return "starting workers" if not progress.current else next(iter(progress.current.values()))
    left = time.strftime("%H:%M:%S", time.gmtime(progress.seconds_left))
    words = f"{progress.done / progress.seconds:.2g}/s, {left} left"
    words += f", {len(progress.failed)} failed" if progress.failed else ""
    return words + (f", at {next(iter(progress.current.values()))}" if progress.current else "")


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
