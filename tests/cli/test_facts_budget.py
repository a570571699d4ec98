"""loadstone facts budget and report: from files to numbers and to a page, and one sentence for whatever is wrong."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from loadstone.books.book import open_book
from loadstone.books.further import FurtherFacts
from loadstone.books.largest import Fitting
from loadstone.books.shuffled import Control
from loadstone.books.storing import remember
from loadstone.cli import facts_budget
from loadstone.theory.given_facts import Law

WORDS = [f"{kind}{number}" for kind in ("land", "city") for number in range(24)]
VECTORS = np.random.default_rng(0).standard_normal((len(WORDS), 6)).round(4)
PAIRS = [(f"Land{number}", f"City{number}") for number in range(24)]


@pytest.fixture
def files(tmp_path):
    lines = [" ".join([word, *map(str, vector)]) for word, vector in zip(WORDS, VECTORS)]
    (tmp_path / "v.txt").write_text("\n".join(lines))
    (tmp_path / "f.csv").write_text("country,capital\n" + "".join(f"{a},{b}\n" for a, b in PAIRS[:6]))
    rest = [{"country": a, "capital": b} for a, b in [*PAIRS[6:], PAIRS[6], ("Atlantis", "City1")]]
    (tmp_path / "more.jsonl").write_text("\n".join(map(json.dumps, rest)))
    vectors = dict(zip(WORDS, VECTORS.astype("f")))
    remember(tmp_path / "f.csv", vectors, columns=("country", "capital")).save(tmp_path / "b.safetensors")
    return tmp_path


MORE = ["--more", "more.jsonl", "--vectors", "v.txt", "--columns", "country,capital"]


def test_budget_as_json_is_that_of_the_book(command, files):
    done = command("facts", "budget", "b.safetensors", *MORE, "--json", cwd=files)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    book = open_book(files / "b.safetensors")
    same = book.budget(PAIRS[6:], dict(zip(WORDS, VECTORS.astype("f")))).described()
    for one in (found, same):
        one.pop("seconds")
        # How far the reason for the first that does not fit is reduced depends on the time it took to find the number.
        assert one["more"].pop("conflict_minimal") in (True, False) and len(one["more"].pop("conflict")) != 1
    assert found.pop("book") == "b.safetensors" and found.pop("family") == "full"
    assert found == json.loads(json.dumps(same))
    assert found["more"]["exact"] and found["more"]["proved"] and 0 < found["more"]["fits"] < 18
    assert "1 line repeats a fact" in done.stderr and "1 name has no vector, and 1 fact is left out" in done.stderr


def test_people_read_what_fits_and_what_does_not(command, files):
    done = command("facts", "budget", "b.safetensors", *MORE, cwd=files)
    assert done.returncode == 0, done.stderr
    fits = open_book(files / "b.safetensors").budget(PAIRS[6:], dict(zip(WORDS, VECTORS)), shuffles=0).more.fitting.fits
    assert "6 of 6 facts stored" in done.stdout and f"{fits} of 18 (proved)" in done.stdout
    assert "at least 6" in done.stdout and "at most 1" in done.stdout
    assert f"does not fit beside all before it: {' -> '.join(PAIRS[6 + fits])}." in done.stderr
    assert "All of them fit even so." in done.stderr


def test_known_words_need_no_vectors(command, files):
    (files / "one.tsv").write_text("subject\tobject\nLand1\tCity2\n")
    done = command("facts", "budget", "b.safetensors", "--more", "one.tsv", "--json", "--shuffles", "0", cwd=files)
    found = json.loads(done.stdout)
    assert found["more"]["fits"] == 0 and found["more"]["first_out"] == "Land1 -> City2" and found["shuffled"] is None


def test_report_writes_a_page_with_everything_in_it(command, files):
    done = command("facts", "report", "b.safetensors", "--out", "page.html", cwd=files)
    assert done.returncode == 0 and done.stdout == "" and "Written: page.html" in done.stderr
    page = (files / "page.html").read_text()
    assert all(f'"{name}"' in page for pair in PAIRS[:6] for name in pair)


def test_vectors_that_differ_from_those_of_the_book_are_refused(command, files):
    (files / "w.txt").write_text("atlantis 1 2 3 4 5 6\ncity1 1 2 3 4 5 7\n")
    done = command("facts", "budget", "b.safetensors", *MORE[:3], "w.txt", *MORE[4:], cwd=files)
    assert done.returncode == 2 and "'City1' has another vector" in done.stderr


def law(**changes):
    known = {"answers": 5, "input_dimensions": 4, "output_dimensions": 3, "capacity": 12.34, "capacity_error": 0.0}
    known |= {"is_bound": False, "delta": 16.0, "cost": 1.3, "load": 0.4047, "probability": None}
    return Law(**known | {"with_new_answers": None, "caveats": ()} | changes)


def test_rows_of_the_law():
    assert facts_budget.law_rows(law()) == {
        "answers": "5", "dimensions of subjects and answers": "4, 3", "random facts that fit, by the law": "12",
        "load, stored / fitting": "0.405",
    }  # fmt: skip
    rows = facts_budget.law_rows(law(capacity_error=2.4, is_bound=True, probability=0.98761, with_new_answers=8))
    assert list(rows.items())[2:] == [
        ("random facts that fit, by the law, at most", "12 (2)"),
        ("  if every further fact has an answer of its own", "8"),
        ("load, stored / fitting, at least", "0.405"), ("probability that so many random facts fit", "0.9876"),
    ]  # fmt: skip
    assert facts_budget.law_rows(law(capacity=None))["random facts that fit, by the law"] == "not known"


def test_rows_and_words_of_the_control():
    def said(*shuffles, stored=20, facts=20):
        control = Control(20, shuffles)
        words = facts_budget.control_words(SimpleNamespace(shuffled=control, stored=stored, facts=facts))
        return list(facts_budget.control_rows(control).values()), " ".join(words)

    rows, words = said(Fitting(20, 10, 11), Fitting(20, 14, 15))
    assert rows == ["12", "1.67"] and "20 stored facts, their answers dealt out at random, 2 times." in words
    assert "Every fact is stored, so more of this kind may fit" in words and "Not all of the control" not in words
    assert "Not every fact is stored" in said(Fitting(20, 10, 11), stored=19)[1]
    rows, words = said(Fitting(20, 20, None))
    assert rows == ["at least 20", "at most 1"] and "All of them fit even so" in words and ", 1 time." in words
    rows, words = said(Fitting(20, 5, 11))
    assert rows == ["5 to 10", "2 to 4"] and "Not all of the control was decided" in words
    assert facts_budget.control_rows(None) == {} and facts_budget.control_words(SimpleNamespace(shuffled=None)) == []


def test_rows_and_words_of_further_facts():
    def said(fitting, **changes):
        nothing = {"first_out": None, "conflict": (), "conflict_minimal": False, "known": 0, "new_answers": 0}
        found = FurtherFacts(fitting, **nothing | {"proved": True} | changes)
        return facts_budget.more_rows(found)["further facts that fit"], " ".join(facts_budget.more_words(found))

    assert said(Fitting(9, 5, 6)) == ("5 of 9 (proved)", "") and said(Fitting(9, 9, None)) == ("9 of 9 (proved)", "")
    fits, words = said(Fitting(9, 5, 8), known=1, first_out="a -> b", proved=False)
    assert fits == "5 to 7 of 9" and "1 of the further facts is stored already." in words
    assert "does not fit beside all before it: a -> b." in words and "more --seconds give closer bounds" in words
    assert "may be that nothing fits beside them" in words
    assert said(Fitting(9, 5, 6), proved=False)[0] == "5 of 9"
    assert (
        "each of them needed for that: a -> b; c -> d."
        in said(Fitting(9, 5, 6), conflict=("a -> b", "c -> d"), conflict_minimal=True)[1]
    )
    assert "cannot stand together: a -> b." in said(Fitting(9, 5, 6), conflict=("a -> b",))[1]
    assert "2 of the further facts are stored already" in said(Fitting(9, 5, 6), known=2)[1]
    assert facts_budget.more_rows(None) == {} and facts_budget.more_words(None) == []


@pytest.mark.parametrize("low, high, words", [
    (5, 5, "5"), (1.234, 1.2341, "1.23"), (1.23, 1.24, "1.23 to 1.24"), (99.94, 100, "99.9 to 100"),
    (100.4, 100.2, "100"), (1234.4, 1235, "1234 to 1235"),
])  # fmt: skip
def test_two_numbers_that_look_the_same_are_one(low, high, words):
    assert facts_budget.between(low, high) == words
