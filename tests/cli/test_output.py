"""What people see of a command: tables, bars on a terminal, lines where there is none."""

import io
import json
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from loadstone.cli import output, run


@pytest.fixture
def terminal(monkeypatch):
    """Standard error is a terminal, and this is what it shows."""
    shown = io.StringIO()
    monkeypatch.setattr(output, "Console", lambda **_: Console(file=shown, force_terminal=True, width=200))
    return lambda: re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue())


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


def test_a_bar_of_a_file_appears_after_a_second(terminal, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])
    with output.reading_bar("words [1].txt", 100) as progress:
        now[0] = 100.9
        progress(10, "")
        assert terminal() == ""
        now[0] = 101.1
        progress(25, "")
    assert "reading words [1].txt" in terminal() and "25/100 bytes" in terminal()


def test_a_bar_of_a_sweep_counts_records_of_before_too(terminal):
    with output.sweep_bar("accuracy [quick]") as watch:
        watch(so_far())
    assert "accuracy [quick]" in terminal() and "3/9" in terminal() and "0.5/s, 01:02:05 left" in terminal()


def test_without_a_terminal_a_sweep_speaks_every_five_seconds(capfd, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])
    with output.sweep_bar("accuracy") as watch:
        for moment in (100.0, 104.9, 105.0):
            now[0] = moment
            watch(so_far(done=int(moment - 98)))
    assert capfd.readouterr().err.splitlines() == [
        "accuracy: 3/9 runs, 0.5/s, 01:02:05 left", "accuracy: 8/9 runs, 1.8/s, 01:02:05 left",
    ]  # fmt: skip


def test_the_pace_of_a_sweep_in_words():
    assert output._pace(so_far(seconds_left=None)) == "starting workers"
    assert output._pace(so_far(seconds_left=None, current={"a": "d = 5"})) == "d = 5"
    found = output._pace(so_far(failed={"k": "why"}, current={"a": "d = 5", "b": "d = 6"}))
    assert found == "0.5/s, 01:02:05 left, 1 failed, at d = 5"


@pytest.mark.parametrize("seconds, words", [
    (0, "00:00:00"), (59.4, "00:00:59"), (59.6, "00:01:00"), (3599, "00:59:59"), (3600, "01:00:00"),
    (90_000, "25:00:00"), (float("inf"), "277777777:46:40"),
])  # fmt: skip
def test_durations(seconds, words):
    assert output.duration(seconds) == words


def test_tables_have_six_digits_and_keep_their_brackets(capfd):
    output.print_table("runs", [{"p": 3, "loss": 0.123456789}, {"p": 40, "loss": 2.0}])
    output.print_pairs("a [b]", {"c [d]": "e [f]"})
    said = capfd.readouterr().out
    assert all(word in said for word in ("runs", "loss", "0.123457", "40", "2 ", "a [b]", "c [d]", "e [f]"))
    assert "0.1234567" not in said


def test_json_has_null_where_a_number_is_not_finite(capfd):
    output.print_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": {"d": -float("inf")}, "e": "nan"})
    assert json.loads(capfd.readouterr().out) == {"a": None, "b": [None, 1.5], "c": {"d": None}, "e": "nan"}


def test_a_sweep_ends_with_a_report(capfd):
    def said(**changes):
        known = dict.fromkeys(("quarantined", "lost_workers", "diverged", "missing"), 0) | {"stopped": "", "failed": {}}
        known |= {"total": 9, "before": 4, "done": 5, "seconds": 61.0, "complete": True}
        run._report(SimpleNamespace(**known | changes), json=False)
        return capfd.readouterr().err.splitlines()

    last = "9 runs: 4 were recorded before, 5 done in 00:01:01; complete."
    assert said() == [last]
    assert said(quarantined=2)[0] == "2 damaged records were set aside and their runs repeated."
    assert said(lost_workers=1)[0] == "1 workers were lost; their runs were given to others."
    assert said(stopped="no room")[0] == "stopped: no room" and said(diverged=3)[0].startswith("3 runs diverged")
    assert said(complete=False, missing=2)[-1].endswith("done in 00:01:01; 2 missing, start again to run them.")
    for count, more in ((10, []), (11, ["failed: 1 more."]), (12, ["failed: 2 more."])):
        failed = {str(number): f"why {number}" for number in range(count)}
        assert said(failed=failed) == [*(f"failed: why {number}" for number in range(10)), *more, last]


@pytest.mark.parametrize("options, sentence", [
    (["--resource", "gpu"], "need --scheduler-file or --address"),
    (["--address", "tcp://a:1", "--workers", 2], "workers is 2, but a scheduler elsewhere has its own"),
    (["--scheduler-file", "s.json", "--workers", 1], "workers is 1, but a scheduler elsewhere has its own"),
    (["--engine", "process", "--address", "tcp://a:1"], "engine is 'process', which has one worker and no scheduler"),
    (["--engine", "process", "--workers", 2], "engine is 'process', which has one worker and no scheduler"),
    (["--workers", 0], "workers is 0, but must be a whole number of at least 1 and at most 1024"),
    (["--workers", 1025], "workers is 1025, but must be a whole number of at least 1 and at most 1024"),
])  # fmt: skip
def test_engines_that_do_not_go_together_are_refused(command, tmp_path, options, sentence):
    done = command("run", "accuracy", "--store", tmp_path / "s", *options)
    assert done.returncode == 2 and sentence in done.stderr and not (tmp_path / "s").exists()


def test_names_are_on_the_left_and_numbers_on_the_right(capfd):
    output.print_pairs("Two numbers", {"one": "1.25", "another one": "3"})
    output.print_table("Runs", [{"seed": 0, "loss": 0.123456789}, {"seed": 10, "loss": 2.0}])
    lines = capfd.readouterr().out.splitlines()
    inside = [[part for part in re.split("[│┃]", line)[1:-1]] for line in lines if re.search("[│┃]", line)]
    assert inside == [
        [" one         ", " 1.25 "], [" another one ", "    3 "],
        [" seed ", "     loss "], ["    0 ", " 0.123457 "], ["   10 ", "        2 "],
    ]  # fmt: skip
    assert lines[0].rstrip() == "Two numbers" and "Runs" in [line.rstrip() for line in lines]


@pytest.mark.parametrize("bar, given", [
    (lambda: output.progress_of("a", 9), (3, "so")), (lambda: output.sweep_bar("a"), (so_far(),)),
    (lambda: output.reading_bar("a", 9), (3, "")),
])  # fmt: skip
def test_a_bar_leaves_nothing_behind(bar, given, monkeypatch):
    """It is erased in the end: the cursor goes up to where it began."""
    shown = io.StringIO()
    monkeypatch.setattr(output, "_SHOW_SECONDS", -1.0)
    monkeypatch.setattr(output, "Console", lambda **_: Console(file=shown, force_terminal=True, width=99))
    with bar() as show:
        show(*given)
    assert shown.getvalue().endswith("\x1b[1A\x1b[2K")
