"""Whatever number, word or list a formula is given: a result without NaN, or one sentence that names the argument.

python -m tests.theory.test_extreme_arguments      # after a deliberate change: rewrite which of them are taken
"""

import json
import math
from dataclasses import astuple, is_dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from loadstone.theory import (
    capacity,
    codimension,
    cone,
    entropy,
    finite_margin,
    hebbian,
    load,
    margin,
    prediction,
    question,
    scores,
    skew,
    spectra,
    storable,
    typical,
)
from loadstone.theory.minimiser import minimiser

RANDOM = np.random.default_rng(0)
EXTREME = [
    0, -1, -0.0, math.nan, math.inf, -math.inf, 1e308, 1e-320, 1e100, 1e-100, 10**400, 10**5000, 10**15, 2, 1, 0.5,
    "", "5", "x" * 500, "٣", True, None, 1j, [], [1, [2]], [2, 3], Fraction(1, 3), np.float32(0.5), np.int8(3),
    1.0, 1.5,
]  # fmt: skip
#: For each argument of a formula the places of those that it takes.
TAKEN = Path(__file__).with_name("taken.json")

#: Every public formula, with arguments that it takes.
FORMULAS = {
    capacity.capacity: (0.5,),
    capacity.finite_capacity: (10, 0.5),
    capacity.capacity_associations: (10, 0.5),
    capacity.asymptotic_capacity_associations: (10, 0.5),
    capacity.hebbian_associations: (10,),
    capacity.parameters: (10, 0.5),
    capacity.bits_per_parameter: (10, 10, 0.5, "choice"),
    cone.log_solid_angles: (3,),
    cone.merge_law: (5,),
    cone.project: ([1.0, 2.0],),
    entropy.energetic_lower_bound: (0.5,),
    entropy.energetic_upper_bound: (0.5, 3),
    entropy.energetic: (0.5, 10, 8, 0),
    entropy.free_entropy: (0.3,),
    entropy.overlap: (0.3,),
    entropy.annealed: (0.3,),
    entropy.finite_free_entropy: (0.3, 10, 8, 0),
    entropy.free_entropy_curve: ([0.3], 10, 8, 0),
    typical.at_cosine: (0.3, 1, 2, 2, 0, True),
    typical.typical: (0.1, 1, 2, 2, 0),
    hebbian.target_mean: (10, 0.5),
    hebbian.score_moments: (10, 5),
    hebbian.failure: (10, 0.5),
    hebbian.accuracy: (10, 0.5),
    hebbian.finite_failure: (10, 5),
    hebbian.finite_accuracy: (10, 5),
    hebbian.finite_probability_all_stored: (10, 5),
    load.load: (10, 5),
    load.associations: (0.5, 10),
    load.nearest_associations: (0.5, 10),
    load.dimension: (0.5, 10),
    load.nearest_dimension: (0.5, 10),
    finite_margin.finite_largest_margin: (8, 10, 2, "gaussian", "sphere", 16, 0),
    codimension.codimension: (10, 0.5),
    margin.margin_capacity: (100.0, 10, 0.5),
    margin.largest_margin: (100.0, 5, 10),
    minimiser: (50, 20, 1024, 0),  # storable, which is quick
    question.least_dimension: (10, 0.5),
    scores.target_density: (0.5, 10),
    scores.target_mean: (10,),
    scores.target_deviation: (10,),
    scores.rival_density: (0.5, 10),
    scores.rival_deviation: (10,),
    skew.skewed_capacity: (10, [1, 1, 2], 100, 0),
    skew.random_target_capacity: (3, [1, 1], 2, 100, 0),
    spectra.at_capacity: (0.5,),
    spectra.initial_factored: (0.5,),
    spectra.at_capacity(0.5).density: (0.5,),
    spectra.at_capacity(0.5).cdf: (0.5,),
    spectra.at_capacity(0.5).quantile: (0.5,),
    spectra.at_capacity(0.5).sample: (5, RANDOM),
    storable.probability_storable: (10, 5),
    storable.storable_interval: (5, 0.5),
    storable.capacity_moments: (5,),
}


def without_nan(found):
    if is_dataclass(found):
        return all(map(without_nan, astuple(found)))
    if isinstance(found, tuple):
        return all(map(without_nan, found))
    return not isinstance(found, float | np.ndarray) or not np.isnan(found).any()


def name_of(formula):
    return f"{formula.__module__}.{formula.__qualname__}"


def taken(formula):
    """The places of the extremes that each argument takes."""
    arguments, found = FORMULAS[formula], []
    for index in range(len(arguments)):
        found.append([])
        for place, extreme in enumerate(EXTREME):
            if formula is minimiser and index < 2 and extreme in (2, 1, 10**15):
                continue  # above capacity, where it takes seconds: tests/theory/test_minimiser.py
            given = [*arguments[:index], extreme, *arguments[index + 1 :]]
            try:
                assert without_nan(formula(*given)), given
                found[-1].append(place)
            except ValueError as error:
                assert " is " in str(error) and "but must be" in str(error) and len(str(error)) < 500, given
    return found


@pytest.mark.parametrize("formula", FORMULAS, ids=name_of)
def test_a_number_or_a_sentence(formula):
    assert without_nan(formula(*FORMULAS[formula]))
    assert taken(formula) == json.loads(TAKEN.read_text())[name_of(formula)], "see the first lines of this file"


@pytest.mark.parametrize("arguments", [
    {"d": 10}, {"facts": 10}, {"d": 10, "facts": 20}, {"d": 10, "load": 0.5}, {"facts": 10, "load": 0.5},
    {"d": 1, "facts": 10**15},
])  # fmt: skip
@pytest.mark.parametrize("name", ["d", "facts", "load", "kappa"])
def test_a_prediction_or_a_sentence(arguments, name):
    for extreme in EXTREME:
        try:
            found = prediction.predict(**arguments | {name: extreme})
        except ValueError as error:
            assert "but must be" in str(error) or "determined" in str(error)
        else:
            numbers = [value for value in vars(found).values() if not isinstance(value, str | tuple | None)]
            assert all(map(math.isfinite, numbers)), extreme
            assert 0 <= found.hebbian_accuracy <= 1 and 0 <= found.hebbian_probability_all_stored <= 1


if __name__ == "__main__":
    lines = [f"{json.dumps(name_of(formula))}: {json.dumps(taken(formula))}" for formula in FORMULAS]
    TAKEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
