"""What commands say about results that are made by hand: long lists, rare endings, and what is left out."""

import json
import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import typer

from loadstone.books.book import Book, Failure
from loadstone.books.draft import Change
from loadstone.books.editing import Edited
from loadstone.books.largest import Fitting
from loadstone.books.storing import Stored
from loadstone.cli import (
    app,
    devices,
    facts_budget,
    facts_edit,
    facts_store,
    interrupts,
    options,
    own_facts,
    predict,
    reproduce,
    status,
    streams,
    train,
    train_runs,
)
from loadstone.cli.facts_options import counted, named_columns, some
from loadstone.estimate import Estimate
from loadstone.runs.record import Record
from loadstone.runs.spec import Spec
from loadstone.runs.sweep import Outcome
from loadstone.space.diagnostics import Mixing
from loadstone.space.sample import Sampled
from loadstone.studies.registry import named_sweep
from loadstone.theory.codimension import codimension
from loadstone.theory.given_facts import Law
from loadstone.theory.prediction import predict as predict_size

SPECS = [Spec("original", 4, p, solver="hebbian") for p in (6, 7, 8)]
BOOK = Book(np.eye(2), ("a",), ("x", "y"), np.array([0]), np.eye(2)[:1], np.eye(2), np.array([True]))


def edited(**changes):
    known = {"book": BOOK, "method": "batch", "taken": (), "missed": (), "left_out": (), "lost": (), "kept": 3}
    known |= {"gained": (), "impossible": (), "obstructions": (), "proved": True, "averaged": (), "missing": ()}
    return Edited(**known | {"seconds": 1.234} | changes)


def test_twenty_of_each_kind_are_named_after_an_edit(capfd):
    asked = tuple(Change(f"s{number}", "x", "add") for number in range(21))
    lost = tuple(Failure(f"s{number}", "x", "y", -0.12345) for number in range(20))
    facts_edit._print(edited(taken=asked[:2], missed=asked[:20], lost=lost, gained=("g",) * 20))
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "took 2 of 22 edits, lost 20 of 23 old facts (proved), by batch in 1.23 s."
    assert lines[1] == "  not taken: add s0 -> x" and lines[21] == "  lost: s0 -> x, to y by 0.123"
    assert lines[41:] == ["  stored now: g"] * 20
    facts_edit._print(edited(missed=asked, proved=False, kept=1))
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "took 0 of 21 edits, lost 0 of 1 old fact, by batch in 1.23 s."
    assert lines[20:] == ["  not taken: add s19 -> x", "  and more (--json has them all)"]
    reason = SimpleNamespace(kind="hidden answer", statement="a = b:", advice="leave it out.")
    facts_edit._print(edited(obstructions=(reason,)))
    assert capfd.readouterr().err == "hidden answer: a = b: What to do: leave it out.\n"


def test_an_edit_for_programs():
    lost = (Failure("s", "x", "y", -0.5),)
    asked = Change("a", "x", "add"), Change("b", "y", "change")
    done = edited(taken=asked[:1], missed=asked[1:], lost=lost, gained=("g",), missing=("m",), averaged=("n",))
    found = facts_edit._described(done)
    assert found == {
        "method": "batch", "edits": 2, "taken": ["add a -> x"], "missed": ["change b -> y"],
        "lost": [["s", "x", "y", -0.5]],
        "kept": 3, "gained": ["g"], "impossible": [], "proved": True, "obstructions": [], "facts": 1, "answers": 2,
        "d": 2, "stored": 1, "averaged": ["n"], "out_of_vocabulary": ["m"], "left_out": [], "seconds": 1.234,
    }  # fmt: skip


@pytest.mark.parametrize(
    "count, conflict, more", [(20, 12, ("", "")), (22, 14, ("  and 2 more (--json has them all)", " and 2 more"))]
)
def test_of_many_failures_twenty_are_named_and_of_a_conflict_twelve(count, conflict, more, monkeypatch, capfd):
    gathered = SimpleNamespace(name=lambda row: f"f{row}")
    failures = [Failure(f"s{number}", "x", "y", -0.12345) for number in range(count)]
    stored = Stored(BOOK, False, (), (), SimpleNamespace(facts=tuple(range(conflict)), minimal=False), failures, 1.234)
    monkeypatch.setattr(facts_store, "gathered_from", lambda *given: gathered)
    monkeypatch.setattr("loadstone.books.storing.store", lambda *given: stored)
    facts_store.store("f.csv", "v.txt")
    said = capfd.readouterr()
    lines = said.out.splitlines()
    assert lines[0] == "stored 1 of 1, in 1.23 s." and lines[1] == "  s0 -> x loses to y by 0.123"
    assert lines[21:] == [line for line in more[:1] if line]
    named = "; ".join(f"f{row}" for row in range(12))
    assert said.err == f"These facts cannot stand together: {named}{more[1]}.\n"


def test_names_in_a_row():
    names = [str(number) for number in range(9)]
    assert some(names[:8]) == "0, 1, 2, 3, 4, 5, 6, 7" and some(names) == "0, 1, 2, 3, 4, 5, 6, 7 and 1 more"
    assert some(("a", "b", "c"), most=2, between="; ") == "a; b and 1 more"
    assert [counted(count, "fact is", "facts are") for count in (0, 1, 2)] == [
        "0 facts are",
        "1 fact is",
        "2 facts are",
    ]
    assert named_columns(" a , b") == ("a", "b")
    for wrong in ("a", "a,b,c", "a,", ","):
        with pytest.raises(ValueError, match="two names with a comma between them"):
            named_columns(wrong)


def law(**changes):
    known = {"answers": 5, "input_dimensions": 4, "output_dimensions": 3, "capacity": 12.34, "capacity_error": 0.0}
    known |= {
        "is_bound": False,
        "delta": 16.0,
        "cost": 1.3,
        "load": 0.4047,
        "probability": None,
        "with_new_answers": None,
    }
    return Law(**known | {"caveats": ()} | changes)


def test_rows_of_the_law():
    assert facts_budget._law_rows(law()) == {
        "answers": "5", "dimensions of subjects and answers": "4, 3", "random facts that fit, by the law": "12",
        "load, stored / fitting": "0.405",
    }  # fmt: skip
    rows = facts_budget._law_rows(law(capacity_error=2.4, is_bound=True, probability=0.98761, with_new_answers=8))
    assert list(rows.items())[2:] == [
        ("random facts that fit, by the law, at most", "12 (2)"),
        ("  if every further fact has an answer of its own", "8"),
        ("load, stored / fitting, at least", "0.405"), ("probability that so many random facts fit", "0.9876"),
    ]  # fmt: skip
    assert facts_budget._law_rows(law(capacity=None))["random facts that fit, by the law"] == "not known"


SIZES = ("--problem", "decoupled", "--d", 3, "--p", 2)


def sampled(**changes):
    known = {"mixing": Mixing(1.01, 50.0, 4.0), "overlap": Estimate(0.3, 0.01), "volume": None, "centre": None}
    known |= {"typical": None, "dimension": 9, "steps": 320, "passes": 1000, "seconds": 1.0}
    return Sampled(**known | changes)


@pytest.fixture
def sampling(monkeypatch):
    """A sampler that answers what is given by hand, and remembers what it was asked."""
    given = SimpleNamespace(answer=sampled(), asked=[])

    def sample(arrays, *arguments, progress):
        given.asked.append((arrays.inputs.shape, arrays.decoupled, *arguments))
        progress(1, 3)
        return given.answer

    monkeypatch.setattr("loadstone.space.sample.sample", sample)
    return given


def test_samples_for_programs(sampling, command):
    sampling.answer = sampled(volume=SimpleNamespace(log=Estimate(-4.5, 0.9)))
    found = json.loads(command("sample", *SIZES, "--seed", 3, "--chains", 5, "--steps", 7, "--json").stdout)
    assert sampling.asked == [((2, 3), True, 5, 7, 3, "full", "reflections", True)]
    predicted = found.pop("overlap_predicted"), found.pop("free_entropy_predicted")
    assert 0 < predicted[0] < 1 and predicted[1] == pytest.approx(np.log(0.5) * 2 / 9, rel=0.2)
    assert found == {
        "problem": "decoupled", "d": 3, "p": 2, "seed": 3, "answers": 2, "family": "full", "dimension": 9,
        "mixed": True, "r_hat": 1.01, "effective_samples": 50.0, "autocorrelation_time": 4.0, "overlap": 0.3,
        "overlap_error": 0.01, "free_entropy": -0.5, "free_entropy_error": 0.1, "log_volume": -4.5, "chains": 5,
        "steps": 320, "passes": 1000, "method": "reflections", "seconds": 1.0,
    }  # fmt: skip


def test_samples_of_a_family_are_compared_at_its_own_dimension(sampling, command):
    sampling.answer = sampled(dimension=3)
    full, symmetric = (
        json.loads(command("sample", "--d", 3, "--p", 2, "--family", family, "--no-volume", "--json").stdout)
        for family in ("full", "symmetric")
    )
    # Two shared outputs show one of three directions: 3 of the 9 dimensions.
    assert symmetric["overlap_predicted"] == pytest.approx(full["overlap_predicted"])
    assert (symmetric["family"], symmetric["free_entropy"], symmetric["log_volume"]) == ("symmetric", None, None)
    assert sampling.asked[0][2:] == (4, None, 0, "full", "reflections", False)


def test_people_read_why_something_is_not_known(sampling, command):
    done = command("sample", *SIZES)
    assert done.returncode == 0 and "Memories that store p = 2 associations, d = 3" in " ".join(done.stdout.split())
    assert "decoupled, d = 3, p = 2" not in done.stderr and "The free entropy is not known" in done.stderr
    assert "0.3" in done.stdout and "None" in done.stdout
    assert command("sample", *SIZES, "--no-volume").stderr == ""
    sampling.answer = sampled(mixing=Mixing(1.2345, 5.0, 4.0), overlap=None)
    done = command("sample", *SIZES)
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert "The chains have not mixed (R-hat 1.23), so nothing is averaged: give more --steps." in done.stderr


def test_an_instance_from_a_file_is_sampled(sampling, command, tmp_path):
    np.savez(tmp_path / "x.npz", inputs=np.eye(4)[:2], outputs=np.ones((2, 2, 4)), targets=[0, 1])
    found = json.loads(command("sample", "--instance", tmp_path / "x.npz", "--problem", "original", "--json").stdout)
    assert (found["problem"], found["d"], found["p"], found["answers"]) == ("decoupled", 4, 2, 2)


@pytest.mark.parametrize("p, load, d, found", [(2, None, 1, 2), (2**31 - 1, None, 3, 2**31 - 1), (None, 1.0, 20, 89)])
def test_a_number_of_associations(p, load, d, found):
    assert options.associations_from(p, load, d) == found


def summary(seconds, device="cpu", p=6):
    spec = Spec("original", 4, p, solver="hebbian")
    return {"circumstances": {"seconds": seconds, "device": device}, "spec": spec.identity()}


def test_the_time_that_is_left_is_that_of_the_device_of_most_runs():
    missing = [Spec("original", 4, 6, seed, solver="hebbian") for seed in (1, 2)]
    runs = [summary(1.0), summary(3.0), summary(90.0, "other"), summary("long")]
    assert status._seconds_left(runs, missing, 1) == pytest.approx(4.0)  # two runs of two seconds
    assert status._seconds_left(runs, missing, 4) == pytest.approx(1.0)
    assert status._seconds_left([summary("long"), summary(None)], missing, 1) is None
    assert status._seconds_left(runs, [], 1) == 0
    nameless = {"circumstances": {"seconds": 5.0}, "spec": summary(1.0)["spec"]}
    assert status._seconds_left([nameless], missing, 1) == pytest.approx(10.0)


@pytest.mark.parametrize("name, value, words", [
    ("seconds_left", 61.0, "00:01:01"), ("seconds_left", None, "unknown"), ("statuses", {}, "none"), ("total", 3, "3"),
    ("statuses", {"stored": 2, "diverged": 1}, "1 diverged, 2 stored"),
])  # fmt: skip
def test_a_row_of_status(name, value, words):
    assert status._words(name, value) == words


def test_ten_damaged_records_are_named(monkeypatch, capfd):
    damaged = [f"why {number}" for number in range(11)]
    store = SimpleNamespace(summaries=dict, quarantined=lambda: damaged)
    monkeypatch.setattr(status, "existing_store", lambda folder: store)
    status.status("there")
    said = capfd.readouterr()
    assert said.err.splitlines() == [f"quarantined: why {number}" for number in range(10)] and "11" in said.out
    with pytest.raises(ValueError, match="workers is 0"):
        status.status("there", workers=0)


def outcome(**changes):
    known = {"total": 5, "before": 0, "done": 1, "diverged": 0, "missing": 4, "failed": {}, "lost_workers": 0}
    return Outcome(**known | {"quarantined": 0, "seconds": 1.0, "stopped": ""} | changes)


@pytest.mark.parametrize("changes, reason", [
    ({"failed": {name: f"why {name}" for name in "abcd"}}, "why a; why b; why c"), ({"stopped": "no room"}, "no room"),
])  # fmt: skip
def test_reproduce_ends_where_runs_are_missing(changes, reason, monkeypatch):
    monkeypatch.setattr("loadstone.runs.sweep.run_sweep", lambda *given: outcome(**changes))
    with pytest.raises(ValueError, match=f"^4 of 5 runs are missing: {reason}$"):
        reproduce._run([], None, 1)
    monkeypatch.setattr("loadstone.runs.sweep.run_sweep", lambda *given: outcome(missing=0))
    assert reproduce._run([], None, 1) is None


def test_without_a_number_of_seeds_all_are_drawn(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(reproduce, "_shipped", lambda scale: asked.append(scale) or [])
    monkeypatch.setattr(reproduce, "_rows", lambda specs, records: asked.append(specs) or {})
    monkeypatch.setattr(reproduce, "_section", lambda figure, sweep, rows, folder: asked.append(sweep))
    monkeypatch.setattr(reproduce, "_report", lambda sections, folder, scale: asked.append(sections))
    every = named_sweep("hebbian")
    for seeds, specs in ((None, every), (1, [spec for spec in every if spec.seed == 0])):
        reproduce.reproduce(["hebbian", "hebbian"], str(tmp_path / "new"), seeds=seeds, from_shipped=True)
        assert asked == ["quick", specs, specs, []]
        del asked[:]


def test_a_section_holds_the_first_of_the_files_that_are_drawn(tmp_path, capfd):
    drawn = [tmp_path / "a.svg", tmp_path / "a.pdf"]
    for file in drawn:
        file.write_text(file.suffix)
    figure = SimpleNamespace(
        name="a", points=lambda rows: rows, write=lambda rows, path: drawn, compare=lambda rows: [],
        remarks=lambda rows: ["so"],
    )  # fmt: skip
    row = {"status": "stored", "circumstances": {"seconds": 2.0, "device": "cpu"}}
    found = reproduce._section(figure, SPECS, {SPECS[0]: row, SPECS[1]: row | {"status": "diverged"}}, tmp_path)
    assert (found.study, found.svg, found.runs, found.wanted) == (figure, b".svg", 1, 3)
    assert found.remarks == ["so"] and found.times == {"cpu": 2.0}
    assert capfd.readouterr().err.splitlines() == [
        "a: 1 of 3 runs diverged and are left out.", "a: 1 of 3 runs are not among the shipped records.",
        f"Written: {drawn[0]}, {drawn[1]}",
    ]  # fmt: skip
    assert reproduce._section(figure, SPECS, {}, tmp_path) is None
    assert "a is not drawn: there are no records of its runs." in capfd.readouterr().err


@pytest.mark.parametrize("family, dimensions", [("full", 16), ("symmetric", 10)])
def test_a_search_among_facts_in_words_begins_with_what_the_law_expects(family, dimensions, monkeypatch, capfd):
    asked = []
    monkeypatch.setattr(own_facts, "gathered_from", lambda *given: Six())
    monkeypatch.setattr("loadstone.books.prefixes.first_that_fit", lambda found, *given: asked.append(given) or fitting)
    fitting = Fitting(6, 6, None, 2)
    own_facts.own_capacity("f.csv", "v.txt", None, "a,b", "mean", 7.0, family, 9, "1kB", True)
    ((guess, seconds, searched, limits),) = asked
    assert guess == pytest.approx(dimensions / codimension(3)) and (seconds, searched) == (7.0, family)
    assert (limits.steps, limits.budget.bytes) == (9, 1000)
    found = json.loads(capfd.readouterr().out)
    assert (found["p_c"], found["storable"], found["not_storable"], found["first_out"]) == (6, 6, None, None)
    assert 0 <= found["seconds"] < 60 and found["out_of_vocabulary"] == ["m"] and found["verdicts"] == 2
    fitting = Fitting(6, 4, 6, 2)
    with pytest.raises(typer.Exit) as end:
        own_facts.own_capacity("f.csv", "v.txt", None, "a,b", "mean", 7.0, family, 9, None, True)
    found = json.loads(capfd.readouterr().out)
    assert end.value.exit_code == 3 and (found["p_c"], found["storable"], found["not_storable"]) == (None, 4, 6)


class Six:
    """Six facts."""

    inputs, answers, missing, name = np.zeros((6, 4)), ("x", "y", "z"), (("m", ()),), str

    def __len__(self):
        return 6


def test_times_are_summed_by_device():
    rows = [{"circumstances": one} for one in ({"device": "a", "seconds": 1.5}, {"device": "a", "seconds": 2}, {})]
    assert reproduce._times(rows) == {"a": 3.5, "unknown": 0.0}


def test_a_checkpoint_holds_one_search(tmp_path, capfd):
    kept = tmp_path / "c.npz"
    train.check_checkpoint(str(kept), 1)
    for name, seeds, sentence in (
        ("c.txt", 1, "ends in .npz"),
        ("c.npz", 2, "seeds is 2, but must be 1"),
        (" ", 1, "name"),
    ):
        with pytest.raises(ValueError, match=sentence):
            train.check_checkpoint(name, seeds)
    with pytest.raises(FileNotFoundError):
        train.check_checkpoint(str(tmp_path / "no" / "c.npz"), 1)
    for checkpoint, words in ((kept, ""), (None, "")):
        with pytest.raises(KeyboardInterrupt), train.kept_in(checkpoint and str(checkpoint)):
            raise KeyboardInterrupt
        assert capfd.readouterr().err == words
    kept.touch()
    with pytest.raises(KeyboardInterrupt), train.kept_in(str(kept)):
        raise KeyboardInterrupt
    assert capfd.readouterr().err == f"The search so far is in {kept}: the same command goes on from there.\n"


def runs_of(*statuses):
    names = ("accuracy", "violations", "loss", "steps", "passes", "seconds", "margin")
    specs = [Spec("original", 5, 8, seed) for seed in range(len(statuses))]
    found = [dict.fromkeys(names, 1.0) | {"status": status} for status in statuses]
    return [
        SimpleNamespace(asked=spec, description="words", outcome=lambda one=one: one) for spec, one in zip(specs, found)
    ]


def test_runs_that_end_differently_are_mixed():
    assert train_runs.summary(runs_of("stored", "diverged"))["status"] == "mixed"
    assert train_runs.summary(runs_of("stored", "stored"))["load"] == pytest.approx(8 * np.log(8) / 25)


@pytest.mark.parametrize("error, words", [
    (FileNotFoundError(2, "No such file", "a.txt"), "a.txt: No such file."), (OSError(28, "No space"), "No space."),
    (OSError("plain"), "plain"), (ValueError("a mistake"), "a mistake"),
])  # fmt: skip
def test_errors_in_one_sentence(error, words):
    assert app._sentence(error) == words


@pytest.mark.parametrize("error, code, sentence", [
    (MemoryError(), 2, "loadstone: memory ran out: lower p or d, or set a smaller --budget.\n"),
    (KeyboardInterrupt(), 130, "loadstone: interrupted; nothing half-written was left behind.\n"),
    (ValueError("two\n  lines"), 2, "loadstone: two lines\n"), (BrokenPipeError(), 141, ""),
])  # fmt: skip
def test_how_a_command_ends(error, code, sentence, command, monkeypatch):
    def fail(**_):
        raise error

    monkeypatch.setattr(app, "app_of", lambda names: fail)
    done = command("predict")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", sentence)


def test_an_interrupt_may_come_as_an_exit_code(command, monkeypatch):
    monkeypatch.setattr(app, "app_of", lambda names: lambda **_: 130)
    assert command("predict").stderr == "loadstone: interrupted; nothing half-written was left behind.\n"
    monkeypatch.setattr(app, "app_of", lambda names: lambda **_: 7)
    done = command("predict")
    assert (done.returncode, done.stderr) == (7, "")


def test_an_error_of_ours_is_shown_as_it_is(monkeypatch):
    def fail(**_):
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(app, "app_of", lambda names: fail)
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    monkeypatch.setattr(sys, "argv", ["loadstone", "predict"])
    with pytest.raises(RuntimeError, match="of ours"):
        app.main()
    monkeypatch.setattr(app, "missing_platform", lambda: "there is no such platform.")
    with pytest.raises(SystemExit) as end:
        app.main()
    assert end.value.code == 2


def test_a_question_that_nobody_answers_ends_like_an_interrupt(monkeypatch, capsys):
    """Typer's Abort is a RuntimeError, and yet no mistake of ours."""

    def abort(**_):
        raise typer.Abort

    monkeypatch.setattr(app, "app_of", lambda names: abort)
    monkeypatch.setattr(sys, "argv", ["loadstone", "predict"])
    with pytest.raises(SystemExit) as end:
        app.main()
    assert end.value.code == 130 and "interrupted" in capsys.readouterr().err


def test_a_platform_is_blamed_only_if_it_was_asked_for(monkeypatch):
    import jax

    monkeypatch.setenv("JAX_PLATFORMS", "abacus")
    assert devices.missing_platform() is None  # JAX has devices here

    def fail():
        raise RuntimeError("no devices")

    monkeypatch.setattr(jax, "devices", fail)
    assert devices.missing_platform().startswith("JAX_PLATFORMS is 'abacus', but must be a platform that JAX has here")
    monkeypatch.setenv("JAX_PLATFORMS", "")
    assert devices.missing_platform() is None


def test_only_the_commands_that_are_asked_for_are_imported(command, monkeypatch):
    asked, app_of = [], app.app_of
    monkeypatch.setattr(app, "app_of", lambda names: asked.append(list(names)) or app_of(names))
    command("predict", "--d", 3)
    command("--version")
    command("--help")
    assert asked == [["predict"], [], list(app.COMMANDS)]


def test_other_threads_set_no_signal_handlers(monkeypatch):
    monkeypatch.setattr(interrupts.threading, "main_thread", lambda: None)
    monkeypatch.setattr(interrupts.signal, "signal", None)
    with interrupts.ends_like_an_interrupt():
        pass


class Full:
    """A stream that cannot be written."""

    def __init__(self, error):
        self.error = error

    def flush(self):
        raise self.error


@pytest.mark.parametrize("error, sentence", [
    (OSError(28, "No space left"), "standard output cannot be written to: No space left."), (OSError("it"), "^it$"),
])  # fmt: skip
def test_an_answer_that_cannot_be_written_is_an_error(error, sentence, monkeypatch):
    monkeypatch.setattr(sys, "stdout", Full(error))
    with pytest.raises(OSError, match=sentence), streams.answering():
        pass
    monkeypatch.setattr(sys, "stdout", Full(BrokenPipeError(32, "Broken pipe")))
    with pytest.raises(BrokenPipeError) as found, streams.answering():
        pass
    assert found.value.errno is None


def test_a_stream_that_is_full_is_silenced(tmp_path, monkeypatch):
    with open(tmp_path / "out", "w") as stream:
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(flush=Full(OSError(28, "full")).flush, fileno=stream.fileno))
        before = os.listdir("/proc/self/fd")
        streams.drop_unwritten()
        streams.open_streams()  # there is nothing to be opened
        assert os.listdir("/proc/self/fd") == before
        os.write(stream.fileno(), b"lost")
    assert (tmp_path / "out").read_text() == ""
    with pytest.raises(OSError, match="standard output is closed"):
        streams.ClosedOutput().write("an answer")


def test_a_model_of_this_width_is_named_with_what_it_holds():
    whole = predict_size(4096)
    assert predict.intuition(whole) == (
        "For scale: one 4096 x 4096 matrix, the width of Llama 2 7B, can hold 867 136 facts."
    )
    assert "4096 x 4096 matrix of rank 0.5 d, the width" in predict.intuition(predict_size(4096, kappa=0.5))
    assert predict.intuition(replace(whole, facts_c=1.0)).endswith("can hold one fact.")
    assert predict.intuition(replace(whole, facts_c=2 - 1e-10)).endswith("can hold 2 facts.")
    assert predict._interval(predict_size(4097)) is None and predict_size(40, kappa=0.01).family == "rank:1"


def test_an_interrupted_sweep_says_what_is_recorded(command, monkeypatch, tmp_path):
    def interrupted(specs, records, engine, watch):
        records.put(Record(specs[0].key, specs[0].identity(), {"status": "closed form"}, {}))
        raise KeyboardInterrupt

    monkeypatch.setattr("loadstone.runs.sweep.run_sweep", interrupted)
    (tmp_path / "grid.toml").write_text('[[grid]]\nproblem = "original"\nd = 4\np = [6, 7, 8]\nsolver = "hebbian"\n')
    done = command("run", "grid.toml", "--store", "s", "--workers", 1, cwd=tmp_path)
    assert done.returncode == 130 and done.stderr.splitlines() == [
        "1 of 3 runs are recorded; start again to run the rest.",
        "loadstone: interrupted; nothing half-written was left behind.",
    ]  # fmt: skip


def test_of_several_processes_the_first_answers(command, monkeypatch, tmp_path):
    monkeypatch.setattr("loadstone.hosts.is_first", lambda: False)
    done = command("train", "--d", 4, "--p", 6, "--solver", "hebbian", "--out", "m.safetensors", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "") and not list(tmp_path.iterdir())
