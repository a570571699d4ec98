"""loadstone facts: from two files to a book that answers, and one sentence for whatever is wrong."""

import json

import numpy as np
import pytest

from loadstone.cli import output

PAIRS = [("France", "Paris"), ("Peru", "Lima"), ("Japan", "Tokyo"), ("New Zealand", "Wellington")]
PAIRS += [("Chad", "N'Djamena")]
WORDS = "france paris peru lima japan tokyo new zealand wellington chad n'djamena".split()


@pytest.fixture
def files(tmp_path):
    vectors = np.random.default_rng(0).standard_normal((len(WORDS), 8)).round(4)
    lines = [" ".join([word, *map(str, vector)]) for word, vector in zip(WORDS, vectors)]
    (tmp_path / "v.txt").write_text("\n".join(lines))
    rows = [*PAIRS, PAIRS[0], ("Atlantis", "Paris")]
    (tmp_path / "f.csv").write_text("country,capital\n" + "".join(f"{a},{b}\n" for a, b in rows))
    return tmp_path


def run(command, files, *arguments):
    return command("facts", *arguments, cwd=files)


def test_store_and_recall(command, files):
    done = run(command, files, "store", "f.csv", "--vectors", "v.txt", "--columns", "country,capital", "--json",
               "--out", "b.safetensors")  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found | {"facts": 5, "answers": 5, "d": 8, "stored": 5, "proved": True, "impossible": []} == found
    assert found["out_of_vocabulary"] == ["Atlantis"] and found["averaged"] == ["New Zealand"]
    assert found["repeated"] == 1
    assert found["seconds"] > 0 and found["out"] == "b.safetensors" and found["failures"] == []
    assert "1 line repeats a fact" in done.stderr and "1 name has no vector, and 1 fact is left out" in done.stderr

    done = run(command, files, "recall", "b.safetensors", "peru", "New Zealand", "--top", "2", "--json")
    answers = json.loads(done.stdout)["answers"]
    assert [one["answer"] for one in answers[::2]] == ["Lima", "Wellington"] and all(one["stored"] for one in answers)
    assert answers[0]["margin"] == pytest.approx(answers[0]["score"] - answers[1]["score"])

    done = run(command, files, "recall", "b.safetensors", "Japn")
    assert done.returncode == 1 and "'Japn' is not in the book (did you mean 'Japan'?)" in done.stderr


def test_people_read_what_is_stored_and_why_something_is_not(command, files):
    with open(files / "f.csv", "a") as file:
        file.write("France,Lima\n")
    done = run(command, files, "store", "f.csv", "--vectors", "v.txt", "--columns", "country,capital")
    assert "stored 5 of 6 (proved); 1 impossible beside the others" in done.stdout
    assert "France -> Lima loses to Paris by" in done.stdout
    assert "parallel inputs: France -> Paris; France -> Lima: these facts ask for two answers" in done.stderr

    done = run(command, files, "screen", "f.csv", "--vectors", "v.txt", "--columns", "country,capital")
    assert "not storable" in done.stdout and "What to do: keep one of them" in done.stderr
    done = run(command, files, "screen", "f.csv", "--vectors", "v.txt", "--columns", "country,capital", "--json")
    found = json.loads(done.stdout)
    assert found["input_rank"] == found["facts"] - 1 == 5 and found["output_rank"] == 4
    assert [one["kind"] for one in found["obstructions"]] == ["parallel inputs"]


BAD = {
    "columns": (["store", "f.csv", "--vectors", "v.txt"], "column 'subject' is not there in f.csv"),
    "one column": (["screen", "f.csv", "--vectors", "v.txt", "--columns", "country"], "two names with a comma"),
    "no file": (["store", "nowhere.csv", "--vectors", "v.txt"], "nowhere.csv: No such file"),
    "no vectors": (["store", "f.csv", "--vectors", "x.txt", "--columns", "country,capital"], "x.txt: No such file"),
    "phrases": (["store", "f.csv", "--vectors", "v.txt", "--phrases", "some"], "phrases is 'some'"),
    "seconds": (["store", "f.csv", "--vectors", "v.txt", "--seconds", "0"], "seconds is 0.0"),
    "family": (
        ["store", "f.csv", "--vectors", "v.txt", "--columns", "country,capital", "--family", "rank:2"],
        "family is 'rank'",
    ),
    "out": (["store", "f.csv", "--vectors", "v.txt", "--out", "no/b.safetensors"], "no is not a folder"),
    "no book": (["recall", "f.csv", "France"], "a file that `loadstone facts store` wrote"),
    "top": (["recall", "f.csv", "France", "--top", "0"], "top is 0"),
    "nothing asked": (["recall", "f.csv"], "Missing argument"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence_and_leave_no_file(name, command, files):
    arguments, sentence = BAD[name]
    before = sorted(files.iterdir())
    done = run(command, files, *arguments)
    assert done.returncode == 2 and sentence in done.stderr.splitlines()[-1], done.stderr
    assert sorted(files.iterdir()) == before and "Traceback" not in done.stderr


@pytest.mark.parametrize("terminal", [True, False])
def test_reading_a_large_file_is_shown(terminal, files, monkeypatch, capfd):
    """On a terminal a bar, elsewhere a line now and then; nothing if it takes less than a second."""
    monkeypatch.setattr("rich.console.Console.is_terminal", terminal)
    with output.reading_bar("v[1].txt", 4) as progress:
        progress(1, "")
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(output, "_SHOW_SECONDS", 0.0)
    monkeypatch.setattr(output, "_SPEAK_SECONDS", 0.0)
    with output.reading_bar("v[1].txt", 4000) as progress:
        progress(1000, "")
    shown = capfd.readouterr().err
    assert "reading v[1].txt" in shown and ("1.0/4.0 kB" if terminal else "25%") in shown
