"""What people see of a command: tables, bars on a terminal, lines where there is none."""

import io
import json
import re
import time
from types import SimpleNamespace

import pytest
from rich.console import Console

from loadstone.cli import output


@pytest.fixture
def terminal(monkeypatch):
    """Standard error is a terminal, and this is what it shows."""
    shown = io.StringIO()
    monkeypatch.setattr(output, "Console", lambda **_: Console(file=shown, force_terminal=True, width=200))
    return lambda plain=True: re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue()) if plain else shown.getvalue()


def so_far(**changes):
    """A sweep of which one run was recorded before, and two were recorded in four seconds."""
    known = {"total": 9, "before": 1, "done": 2, "seconds": 4.0, "seconds_left": 3725.0, "failed": {}, "current": {}}
    return SimpleNamespace(**known | changes)


def test_a_bar_counts_what_is_done(terminal):
    with output.progress_of("training", 10) as advance:
        advance(3, "loss 0.5")
    assert "training" in terminal() and "3/10" in terminal() and "loss 0.5" in terminal()


def test_without_a_terminal_only_what_has_words_is_said(capfd):
    with output.progress_of("training", 10) as advance:
        advance(3, "")
        advance(4, "loss 0.5")
    assert capfd.readouterr().err == "training: 4/10 loss 0.5\n"


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands until it is set."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return lambda moment: now.__setitem__(0, moment)


def test_a_bar_of_a_file_appears_after_a_second(terminal, clock):
    with output.reading_bar("words [1].txt", 100) as progress:
        clock(100.9)
        progress(10, "")
        assert terminal() == ""
        clock(101.1)
        progress(25, "")
    assert "reading words [1].txt" in terminal() and "25/100 bytes" in terminal()


def test_without_a_terminal_a_large_file_is_spoken_of_every_five_seconds(capfd, clock):
    with output.reading_bar("words [1].txt", 4000) as progress:
        for moment, done in ((104.9, 400), (105.0, 1000), (106.0, 2000), (110.0, 3000)):
            clock(moment)
            progress(done, "")
    assert capfd.readouterr().err == "reading words [1].txt: 25%\nreading words [1].txt: 75%\n"


def test_a_bar_of_a_sweep_counts_records_of_before_too(terminal):
    with output.sweep_bar("accuracy [quick]") as watch:
        watch(so_far())
    assert "accuracy [quick]" in terminal() and "3/9" in terminal() and "0.5/s, 01:02:05 left" in terminal()


def test_without_a_terminal_a_sweep_speaks_every_five_seconds(capfd, clock):
    with output.sweep_bar("accuracy") as watch:
        for moment in (100.0, 104.9, 105.0):
            clock(moment)
            watch(so_far(done=int(moment - 98)))
    assert capfd.readouterr().err.splitlines() == [
        "accuracy: 3/9 runs, 0.5/s, 01:02:05 left", "accuracy: 8/9 runs, 1.8/s, 01:02:05 left",
    ]  # fmt: skip


@pytest.mark.parametrize("changes, words", [
    ({"seconds_left": None}, "starting workers"), ({"seconds_left": None, "current": {"a": "d = 5"}}, "d = 5"),
    ({"failed": {"k": "why"}, "current": {"a": "d = 5", "b": "d = 6"}}, "0.5/s, 01:02:05 left, 1 failed, at d = 5"),
])  # fmt: skip
def test_the_pace_of_a_sweep_in_words(changes, words, capfd):
    with output.sweep_bar("accuracy") as watch:
        watch(so_far(**changes))
    assert capfd.readouterr().err == f"accuracy: 3/9 runs, {words}\n"


@pytest.mark.parametrize("seconds, words", [
    (0, "00:00:00"), (59.4, "00:00:59"), (59.6, "00:01:00"), (3599, "00:59:59"), (3600, "01:00:00"),
    (90_000, "25:00:00"), (float("inf"), "277777777:46:40"),
])  # fmt: skip
def test_durations(seconds, words):
    assert output.duration(seconds) == words


def test_a_table_keeps_its_brackets(capfd):
    output.print_pairs("a [b]", {"c [d]": "e [f]"})
    said = capfd.readouterr().out
    assert all(word in said for word in ("a [b]", "c [d]", "e [f]"))


def test_json_has_null_where_a_number_is_not_finite(capfd):
    output.print_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": {"d": -float("inf")}, "e": "nan"})
    assert json.loads(capfd.readouterr().out) == {"a": None, "b": [None, 1.5], "c": {"d": None}, "e": "nan"}


def test_names_are_on_the_left_and_numbers_of_six_digits_on_the_right(capfd):
    output.print_pairs("Two numbers", {"one": "1.25", "another one": "3"})
    output.print_table("Runs", [{"seed": 0, "loss": 0.123456789}, {"seed": 10, "loss": 2.0}])
    lines = capfd.readouterr().out.splitlines()
    inside = [[part for part in re.split("[│┃]", line)[1:-1]] for line in lines if re.search("[│┃]", line)]
    assert inside == [
        [" one         ", " 1.25 "], [" another one ", "    3 "],
        [" seed ", "     loss "], ["    0 ", " 0.123457 "], ["   10 ", "        2 "],
    ]  # fmt: skip
    assert lines[0].rstrip() == "Two numbers" and "Runs" in [line.rstrip() for line in lines]


@pytest.mark.parametrize("bar, progress", [
    (lambda: output.progress_of("a", 9), (3, "so")), (lambda: output.sweep_bar("a"), (so_far(),)),
    (lambda: output.reading_bar("a", 9), (3, "")),
])  # fmt: skip
def test_a_bar_leaves_nothing_behind(bar, progress, terminal, clock):
    """It is erased in the end: the cursor goes up to where it began."""
    with bar() as show:
        clock(102.0)
        show(*progress)
    assert terminal(plain=False).endswith("\x1b[1A\x1b[2K")
