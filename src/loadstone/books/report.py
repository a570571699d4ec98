"""What a page about a book shows, as plain numbers and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from loadstone.problems.moderate import moderate
from loadstone.problems.numpy_pass import rivals_of
from loadstone.whitening import root_of_inverse

if TYPE_CHECKING:
    from loadstone.books.book import Book
    from loadstone.books.budget import BookBudget

#: Smaller values, relative to the largest, are rounding.
_VANISHING = 1e-9


def report_of(book: Book, budget: BookBudget) -> dict[str, object]:
    """The data of the page, as JSON holds them: the facts with their margins and rivals, and how full the book is."""
    rivals, margins = rivals_of(book.weights, book)
    about = book.about
    without = about.get("out_of_vocabulary", [])
    return {
        "d": int(book.weights.shape[0]),
        "family": book.family,
        "proved": bool(about.get("proved", False)),
        "subjects": list(book.subjects),
        "answers": list(book.answers),
        "targets": book.targets.tolist(),
        "rivals": rivals.tolist(),
        "margins": [float(f"{margin:.6g}") for margin in np.nan_to_num(margins)],
        "missing": np.flatnonzero(~book.stored).tolist(),
        "conflicts": book.conflicts(),
        "without_vector": list(without) if isinstance(without, list) else [],
        "budget": budget.described(),
        "singular_values": whitened_spectrum(book).tolist(),
    }


def whitened_spectrum(book: Book) -> Float64[np.ndarray, "k"]:
    """The non-zero singular values of W in coordinates in which subjects and answers are white, scaled to a mean square
    of one. In raw coordinates they would show the covariance of the vectors."""
    outputs, inputs, weights = (
        moderate(part)[0].astype(np.float64) for part in (book.outputs, book.inputs, book.weights)
    )
    _, left = root_of_inverse(outputs - outputs.mean(axis=0))
    _, right = root_of_inverse(inputs)
    values = np.linalg.svd(left @ weights @ right, compute_uv=False)
    values = values[values > _VANISHING * values[0]]
    return values / np.sqrt(np.mean(values**2)) if len(values) else np.zeros(1)
