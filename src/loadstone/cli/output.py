"""Output of commands: one JSON object, or lines and tables for people, on standard output; progress on standard error.

What people see may hold names from other people's files. Here they lose what a terminal or rich would act on.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import progress as bars
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from loadstone.cli.printable import printable
from loadstone.cli.streams import answering
from loadstone.cli.streams import say as say
from loadstone.progress import Progress

if TYPE_CHECKING:
    from loadstone.runs import sweep

#: Exit code of a search without a verdict, and of chains that have not mixed.
UNDECIDED = 3
#: Without a terminal, a line is printed every few seconds; on one, a bar appears after a second.
_SPEAK_SECONDS, _SHOW_SECONDS = 5.0, 1.0
_WORDS = bars.TextColumn("{task.fields[words]}")


def print_json(record: Mapping[str, object]) -> None:
    """Exactly one JSON object; numbers that JSON cannot hold (NaN, infinities) become null."""
    with answering():
        print(json.dumps(_finite(record), allow_nan=False))


def print_line(sentence: str) -> None:
    """A line for people."""
    print(printable(sentence))


def print_table(title: str, rows: Sequence[Mapping[str, object]]) -> None:
    """A table for people, one row per run."""
    table = Table(title=_text(title), title_justify="left")
    for name in rows[0]:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(_text(f"{value:.6g}" if isinstance(value, float) else str(value)) for value in row.values()))
    _print(table)


def print_pairs(title: str, rows: Mapping[str, str]) -> None:
    """A table for people, one quantity per row."""
    table = Table(title=_text(title), title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, value in rows.items():
        table.add_row(_text(name), _text(value))
    _print(table)


def _text(words: str) -> Text:
    """Words as they are, and no markup of rich."""
    return Text(printable(words))


def _shown(words: str) -> str:
    """Words for a bar, which takes markup."""
    return escape(printable(words))


class _Answer(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would end the process here


def _print(table: Table) -> None:
    with answering():
        _Answer(width=None if sys.stdout.isatty() else 200).print(table)


def _bar(*columns: bars.ProgressColumn) -> bars.Progress:
    """A progress bar on standard error, removed at the end."""
    left = bars.TextColumn("{task.description}"), bars.BarColumn()
    return bars.Progress(*left, *columns, console=Console(stderr=True), transient=True)


@contextmanager
def progress_of(what: str, total: int) -> Iterator[Progress]:
    """Progress of a search: a bar on a terminal, otherwise a line now and then."""
    bar = _bar(bars.MofNCompleteColumn(), bars.TimeElapsedColumn(), _WORDS)
    if not bar.console.is_terminal:
        yield lambda done, words: say(f"{what}: {done}/{total} {words}") if words else None
        return
    with bar:
        task = bar.add_task(_shown(what), total=total, words="")
        yield lambda done, words: bar.update(task, completed=done, words=_shown(words))


@contextmanager
def reading_bar(name: str, total: int) -> Iterator[Progress]:
    """Progress of reading a file of `total` bytes; nothing is shown if that takes less than a second."""
    began, spoken = time.monotonic(), [time.monotonic()]
    bar = _bar(bars.DownloadColumn())
    task = bar.add_task(f"reading {_shown(name)}")

    def progress(done: int, words: str) -> None:
        now = time.monotonic()
        if bar.console.is_terminal and now - began > _SHOW_SECONDS:
            bar.start()
            bar.update(task, completed=done, total=total)
        elif not bar.console.is_terminal and now - spoken[0] >= _SPEAK_SECONDS:
            spoken[0] = now
            say(f"reading {name}: {done / total:.0%}")

    try:
        yield progress
    finally:
        if bar.live.is_started:  # to stop one that was never shown would print an empty line
            bar.stop()


@contextmanager
def sweep_bar(what: str) -> Iterator[Callable[[sweep.Progress], None]]:
    """Progress of a sweep: runs done, rate, time left and a current run."""
    bar = _bar(bars.MofNCompleteColumn(), _WORDS)
    if not bar.console.is_terminal:
        spoken = [-_SPEAK_SECONDS]

        def say_pace(progress: sweep.Progress) -> None:
            if time.monotonic() - spoken[0] >= _SPEAK_SECONDS:
                spoken[0] = time.monotonic()
                say(f"{what}: {progress.before + progress.done}/{progress.total} runs, {_pace(progress)}")

        yield say_pace
        return
    with bar:
        task = bar.add_task(_shown(what), total=None, words="starting workers")
        yield lambda progress: bar.update(
            task, total=progress.total, completed=progress.before + progress.done, words=_shown(_pace(progress))
        )


def duration(seconds: float) -> str:
    """A time as hours:minutes:seconds; hours may exceed 24."""
    minutes, seconds = divmod(round(min(seconds, 1e12)), 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"


def _pace(progress: sweep.Progress) -> str:
    """The rate, the time left and one of the current runs, in words."""
    if progress.seconds_left is None:
        return "starting workers" if not progress.current else next(iter(progress.current.values()))
    words = f"{progress.done / progress.seconds:.2g}/s, {duration(progress.seconds_left)} left"
    words += f", {len(progress.failed)} failed" if progress.failed else ""
    return words + (f", at {next(iter(progress.current.values()))}" if progress.current else "")


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
