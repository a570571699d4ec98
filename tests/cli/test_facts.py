"""loadstone facts: from two files to a book that answers, and one sentence for whatever is wrong."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest

from loadstone.books.book import open_book
from loadstone.cli.facts_words import conflict_in_words, counted, named_columns, some

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


def test_standard_input_may_begin_with_a_mark_and_its_lines_end_in_any_way(command, files, monkeypatch):
    asked = ("--vectors", "v.txt", "--columns", "country,capital")
    assert run(command, files, "store", "f.csv", *asked, "--out", "b.safetensors").returncode == 0
    for raw, expected in (("\ufeffperu\r\nNew Zealand\r\n\r\n France".encode(), ["Lima", "Wellington", "Paris"]),
                          (b"\xff\n", None)):  # fmt: skip
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), "utf-8", newline="\n"))
        done = run(command, files, "recall", "b.safetensors", "-", "--json")
        if expected is None:
            assert done.returncode == 2 and "standard input is not UTF-8 text: send it as UTF-8." in done.stderr
        else:
            assert [one["answer"] for one in json.loads(done.stdout)["answers"]] == expected


def test_recall_measures_what_is_stored_whatever_the_book_says(command, files):
    words = ("store", "f.csv", "--vectors", "v.txt", "--columns", "country,capital", "--out", "b.safetensors")
    run(command, files, *words)
    book = open_book(files / "b.safetensors")
    replace(book, weights=-book.weights).save(files / "forged.safetensors")
    done = run(command, files, "recall", "forged.safetensors", *book.subjects, "--json")
    assert [one["stored"] for one in json.loads(done.stdout)["answers"]] == [False] * len(book)


def test_people_read_what_is_stored_and_why_something_is_not(command, files):
    with open(files / "f.csv", "a") as file:
        file.write("France,Lima\n")
    done = run(command, files, "store", "f.csv", "--vectors", "v.txt", "--columns", "country,capital")
    assert "stored 5 of 6 (proved); 1 impossible beside the others" in done.stdout
    assert "France -> Lima loses to Paris by" in done.stdout
    assert "parallel inputs: France -> Paris; France -> Lima: these facts ask for two answers" in done.stderr

    done = run(command, files, "screen", "f.csv", "--vectors", "v.txt", "--columns", "country,capital")
    assert "not storable" in done.stdout and "What to do: keep one of them" in done.stderr
    assert "Without France -> Lima: the others together are storable." in done.stderr
    done = run(command, files, "screen", "f.csv", "--vectors", "v.txt", "--columns", "country,capital", "--json")
    found = json.loads(done.stdout)
    assert found["input_rank"] == found["facts"] - 1 == 5 and found["output_rank"] == 4
    assert [one["kind"] for one in found["obstructions"]] == ["parallel inputs"]
    assert (found["aside"], found["verdict"], found["others"]) == (["France -> Lima"], "not storable", "storable")


def test_of_many_failures_twenty_are_named(command, folder):
    """Most of 30 facts do not fit into three dimensions."""
    asked = ("store", "many.csv", "--vectors", "w.txt")
    known = json.loads(run(command, folder, *asked, "--json").stdout)
    done = run(command, folder, *asked)
    first, *named, last = done.stdout.splitlines()
    missing = len(known["failures"])
    assert first.startswith(f"stored {known['stored']} of 30") and known["stored"] + missing == 30 and missing > 20
    assert named == [
        f"  {subject} -> {answer} loses to {rival} by {-margin:.3g}"
        for subject, answer, rival, margin in known["failures"][:20]
    ]
    assert last == f"  and {missing - 20} more (--json has them all)"
    assert [line.partition(":")[0] for line in done.stderr.splitlines() if "What to do: " in line] == [
        reason["kind"] for reason in known["obstructions"]
    ]


@pytest.mark.parametrize("count, words", [(0, "0 facts are"), (1, "1 fact is"), (2, "2 facts are")])
def test_one_is_counted_differently_from_many(count, words):
    assert counted(count, "fact is", "facts are") == words


def test_names_in_a_row():
    names = [str(number) for number in range(9)]
    assert some(names[:8]) == "0, 1, 2, 3, 4, 5, 6, 7" and some(names) == "0, 1, 2, 3, 4, 5, 6, 7 and 1 more"
    assert some(("a", "b", "c"), most=2, between="; ") == "a; b and 1 more"
    assert conflict_in_words(["a", "b"], False) == "These facts cannot stand together: a; b."
    assert conflict_in_words(["a"] * 9, True) == (
        "These facts cannot stand together, each of them needed for that: a; a; a; a; a; a; a; a and 1 more."
    )
    assert named_columns(" a , b") == ("a", "b")
