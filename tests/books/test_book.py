"""A book made by hand: what it answers, and which files are none."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from loadstone.books.book import Book, Failure, Recollection, open_book

#: With W = 1 a score is a product of two vectors.
BOOK = Book(
    np.eye(2), ("East", "north", "east"), ("right", "up", "left"), np.array([0, 1, 2]),
    np.array([[2.0, 0.5], [0.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]),
    np.array([True, True, False]), {"family": "full", "conflicts": [["a -> b", 3]]},
)  # fmt: skip


def test_answers_come_with_scores_and_margins():
    assert BOOK.recall("East", 5) == [
        Recollection("right", 2.0, 1.5), Recollection("up", 0.5, -1.5), Recollection("left", -2.0, -4.0),
    ]  # fmt: skip
    assert BOOK.recall("North") == [Recollection("up", 1.0, 1.0)]
    with pytest.raises(ValueError, match="top is 0"):
        BOOK.recall("North", 0)
    assert BOOK.margins().tolist() == [1.5, 1.0, -2.0]
    assert BOOK.failures() == [Failure("east", "left", "right", -2.0)]


def test_a_name_is_looked_up_as_written_and_then_in_small_letters():
    assert [BOOK.row(name) for name in ("East", "east", "EAST", "NORTH")] == [0, 2, 2, 1]
    twice = replace(BOOK, subjects=("north", "north", "East"))
    assert twice.row("north") == 0 and twice.row("EAST") == 2
    for name, hint in (("norht", r" \(did you mean 'north'\?\)"), ("x" * 300 + "north", "")):
        with pytest.raises(KeyError, match=f"is not in the book{hint}."):
            BOOK.row(name)


def test_what_a_book_says_of_itself():
    assert repr(BOOK) == "<Book: 2 of 3 facts stored, 3 answers, d = 2>" and BOOK.family == "full" and len(BOOK) == 3
    assert repr(replace(BOOK, about={"proved": True})) == "<Book: 2 of 3 facts stored (proved), 3 answers, d = 2>"
    assert (
        replace(BOOK, about={"family": "symmetric"}).family == "symmetric" and replace(BOOK, about={}).family == "full"
    )
    assert BOOK.conflicts() == [["a -> b", "3"]] and replace(BOOK, about={"conflicts": "all"}).conflicts() == []
    vectors = BOOK.vectors()
    assert list(vectors) == ["right", "up", "left", "East", "north", "east"]
    assert vectors["up"].tolist() == [0, 1] and vectors["East"].tolist() == [2, 0.5]


def written(path, changed):
    """The file of the book with some of its arrays or words changed."""
    BOOK.save(path)
    with safe_open(str(path), framework="numpy") as file:
        metadata, arrays = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}
    words = json.loads(metadata["words"])
    words |= {name: changed[name] for name in changed if name in words}
    arrays |= {name: np.asarray(changed[name]) for name in changed if name not in words}
    save_file(arrays, path, metadata | {"words": json.dumps(words)})
    return path


@pytest.mark.parametrize("changed, sentence", [
    ({"targets": [0, 1, 3]}, "a target is not one of the answers"),
    ({"targets": [0, 1, -1]}, "a target is not one of the answers"),
    ({"targets": [0, 1]}, r"targets is int64\(2,\) instead of \(3,\)"),
    ({"targets": [0.0, 1.0, 2.0]}, "targets is float64"),
    ({"stored": [1, 1, 0]}, "stored is int64"),
    ({"stored": [True]}, r"stored is bool\(1,\) instead of \(3,\)"),
    ({"weights": [[1.0, 0.0], [0.0, np.inf]]}, "weights has numbers that are not finite"),
    ({"inputs": [[1.0, 0.0], [0.0, np.nan], [1.0, 1.0]]}, "inputs has numbers that are not finite"),
    ({"inputs": [[1.0, 0.0]]}, r"inputs is float64\(1, 2\) instead of \(3, 2\)"),
    ({"outputs": np.ones((3, 3))}, r"outputs is float64\(3, 3\) instead of \(3, 2\)"),
    ({"weights": np.ones((3, 2))}, r"weights is float64\(3, 2\) instead of \(2, 2\)"),
    ({"weights": np.ones((2, 2), int)}, "weights is int64"),
    ({"subjects": []}, "instead of"),
    ({"answers": ["right"], "outputs": np.ones((1, 2)), "targets": [0, 0, 0]}, "a target is not one of the answers"),
    ({"subjects": [], "inputs": np.ones((0, 2)), "targets": np.zeros(0, int), "stored": np.zeros(0, bool)}, "a target"),
    ({"more": [1.0]}, "unexpected keyword argument"),
])  # fmt: skip
def test_a_damaged_book_is_refused(changed, sentence, tmp_path):
    with pytest.raises(ValueError, match=f"but must be undamaged .*{sentence}"):
        open_book(written(tmp_path / "b.safetensors", changed))


def test_the_smallest_book_is_one(tmp_path):
    changed = {"subjects": ["a"], "inputs": np.ones((1, 2)), "targets": [1], "stored": [True]}
    changed |= {"answers": ["x", "y"], "outputs": np.ones((2, 2))}
    assert len(open_book(written(tmp_path / "b.safetensors", changed))) == 1
    with pytest.raises(FileNotFoundError):
        open_book(tmp_path / "none")


def test_what_is_no_book_is_refused_in_one_sentence(tmp_path):
    path, words = tmp_path / "b.safetensors", '{"subjects": ["a"], "answers": ["b", "c"], "about": {}}'
    BOOK.save(path)
    whole = path.read_bytes()
    for raw in (b"", whole[:-5]):
        path.write_bytes(raw)
        with pytest.raises(ValueError, match="must be a file that `loadstone facts store` wrote"):
            open_book(path)
    for metadata, sentence in (
        ({}, "a book, which this file is not"), ({"format": "loadstone book 9"}, "is of a later one"),
        ({"format": "loadstone book 1"}, "undamaged"), ({"format": "loadstone book 1", "words": "{"}, "undamaged"),
        ({"format": "loadstone book 1", "words": words}, "undamaged"),
    ):  # fmt: skip
        save_file({"weights": np.eye(2)}, path, metadata)
        with pytest.raises(ValueError, match=sentence) as error:
            open_book(path)
        assert "\n" not in str(error.value)
