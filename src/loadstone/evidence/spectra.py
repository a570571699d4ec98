"""Singular values beside their laws: their Kolmogorov distance, and that of Gaussian matrices."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from loadstone.studies.kit.comparison import LARGE_D, Comparison, freedom_of
from loadstone.studies.kit.distances import capacity_reference, kolmogorov, square_reference
from loadstone.studies.kit.rows import Row, grouped
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.spectra import Spectrum, at_capacity, initial_factored


def compare_spectra(rows: list[Row]) -> list[Comparison]:
    """Distance to the law at capacity, beside that of Gaussian matrices cut to the same rank."""
    return _distances(rows, at_capacity, capacity_reference, "at capacity", LARGE_D)


def compare_initial_spectra(rows: list[Row]) -> list[Comparison]:
    """The same for W = Q R^T before training, beside square Gaussian matrices with as many singular values."""
    return _distances(rows, initial_factored, lambda d, rank: square_reference(rank), "at initialisation", "")


def _distances(
    rows: list[Row],
    law_of: Callable[[float], Spectrum],
    reference_of: Callable[[int, int], tuple[float, float]],
    name: str,
    note: str,
) -> list[Comparison]:
    comparisons = []
    for (problem, d, kappa), group in grouped(rows, "problem", "d", "kappa"):
        rank = len(group[0]["singular_values"])
        law = law_of(rank / d).nonzero()
        predicted, scatter = reference_of(d, rank)
        found = [kolmogorov(np.array(row["singular_values"]), law) for row in group]
        what = f"distance to the law {name}, {problem}, d = {d}, kappa = {kappa:.3g}"
        error, freedom = scatter / math.sqrt(len(found)), freedom_of(len(found))
        family, streams = f"distance to the law {name}, {problem}", f"d = {d}"
        # A rank fraction that was rounded to a whole rank has another capacity than the runs were made for.
        exceeds = group[0]["p"] / float(capacity_associations(d, rank / d)) - 1
        aside = f"; p is {100 * exceeds:.1f} % above the capacity of rank {rank}" if note and exceeds > 0.005 else ""
        comparisons.append(
            Comparison(what, predicted, float(np.mean(found)), error, freedom, note + aside, family, streams)
        )
    return comparisons
