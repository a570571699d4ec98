"""The Hebbian rule: how often it stores everything, beside its law at finite size."""

from __future__ import annotations

import math

import numpy as np

from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.rows import Row, grouped
from loadstone.theory.hebbian import finite_probability_all_stored

#: Loads at which the law is surer than this that everything is stored, or not, say nothing.
_SURE = 1e-4


def compare_hebbian_all(rows: list[Row]) -> list[Comparison]:
    """The share of memories that store every association, over all loads at which that is open, beside the law.

    A few seeds a load tell little, but all loads of a dimension together do. The loads of one seed are one nested
    stream, whose outcomes are not independent: the error allows for the worst case, that they rise and fall together.
    """
    comparisons = []
    for (d,), group in grouped([row for row in rows if row["solver"] == "hebbian"], "d"):
        law = {p: finite_probability_all_stored(p, d) for p in {row["p"] for row in group}}
        open_ones = [row for row in group if _SURE < law[row["p"]] < 1 - _SURE]
        if not open_ones:
            continue
        predicted = float(np.mean([law[row["p"]] for row in open_ones]))
        measured = float(np.mean([row["violations"] == 0 for row in open_ones]))
        # Within a stream the outcomes at its loads rise and fall together: deviations add, not variances.
        of_stream = [
            sum(math.sqrt(law[row["p"]] * (1 - law[row["p"]])) for row in some)
            for _, some in grouped(open_ones, "seed")
        ]
        error = math.sqrt(sum(one**2 for one in of_stream)) / len(open_ones)
        what = f"share of Hebbian memories that store everything, d = {d}"
        note = "failures are taken as independent"
        family = "share of Hebbian memories that store everything"
        comparisons.append(
            Comparison(what, predicted, measured, error, math.inf, note, family, f"d = {d}", scale=1.0)
        )
    return comparisons
