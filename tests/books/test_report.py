"""What a page about a book shows, by hand."""

import json

import numpy as np
import pytest

from loadstone.books.book import Book
from loadstone.books.report import report_of, whitened_spectrum


def made(weights, inputs, outputs, **about):
    n, m = len(inputs), len(outputs)
    subjects, answers = (tuple(f"{name}{row}" for row in range(count)) for name, count in (("s", n), ("a", m)))
    return Book(weights, subjects, answers, np.arange(n) % m, inputs, outputs, np.arange(n) != 1, about)


class Budget:
    def described(self):
        return {"facts": 3}


def test_every_fact_has_its_rival_and_margin():
    book = made(np.eye(2), np.array([[1.0, 0.0], [0.0, 1 / 3], [2.0, 1.0]]), np.eye(2), proved=True,
                out_of_vocabulary=["nobody"], conflicts=[["a", "b"]], family="symmetric")  # fmt: skip
    assert json.loads(json.dumps(report_of(book, Budget()))) == {
        "d": 2, "family": "symmetric", "proved": True, "subjects": ["s0", "s1", "s2"], "answers": ["a0", "a1"],
        "targets": [0, 1, 0], "rivals": [1, 0, 1], "margins": [1.0, 0.333333, 1.0], "missing": [1],
        "conflicts": [["a", "b"]], "without_vector": ["nobody"], "budget": {"facts": 3}, "singular_values": [1.0],
    }  # fmt: skip
    bare = report_of(made(np.zeros((2, 2)), np.eye(2), np.eye(2), out_of_vocabulary="all"), Budget())
    assert (bare["proved"], bare["family"], bare["without_vector"], bare["conflicts"]) == (False, "full", [], [])
    assert bare["margins"] == [0.0, 0.0] and bare["singular_values"] == [0.0]


def test_the_covariance_of_the_vectors_is_taken_out():
    """Vectors with any covariance, and W such that it undoes both: all singular values are the same."""
    random = np.random.default_rng(0)
    inputs = random.standard_normal((40, 3)) @ random.standard_normal((3, 3))
    outputs = 5 + random.standard_normal((50, 3)) @ random.standard_normal((3, 3))
    moments = [part.T @ part / len(part) for part in (outputs - outputs.mean(axis=0), inputs)]
    roots = [np.linalg.cholesky(np.linalg.inv(moment)) for moment in moments]
    turned, _ = np.linalg.qr(random.standard_normal((3, 3)))
    weights = roots[0] @ turned @ np.diag([3.0, 2.0, 1.0]) @ turned.T @ roots[1].T
    found = whitened_spectrum(made(weights, inputs, outputs))
    assert found == pytest.approx(np.array([3.0, 2.0, 1.0]) / np.sqrt(14 / 3))
    assert np.mean(found**2) == pytest.approx(1)


def test_what_is_only_rounding_is_left_out():
    outputs = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    inputs = np.eye(2)
    for small, count in ((1e-8, 2), (1e-10, 1)):
        assert len(whitened_spectrum(made(np.diag([1.0, small]), inputs, outputs))) == count
