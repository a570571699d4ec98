"""Whatever number, word or list a public formula is given: a result without NaN, or one sentence that names the
argument."""

import math
from dataclasses import astuple, is_dataclass
from fractions import Fraction
from inspect import signature

import numpy as np
import pytest

from docs.building.api import homes
from loadstone.theory import capacity, load, spectra, storable
from loadstone.theory.minimiser import minimiser
from loadstone.theory.prediction import predict
from tests.theory.values import FORMULAS

EXTREME = [
    0, -1, -0.0, math.nan, math.inf, 1e308, 1e-320, 1e100, 10**400, 10**5000, 10**15, 2, 1, 0.5, "", "5", "x" * 500,
    "٣", True, None, 1j, [], [1, [2]], [2, 3], Fraction(1, 3), np.float32(0.5), np.int8(3), 1.5,
]  # fmt: skip
#: Arguments that each public formula takes. Those of a prediction are tested below; above capacity a minimiser takes
#: seconds (tests/theory/test_minimiser.py).
TAKEN = {
    formula: given[0]
    for formula, given in FORMULAS.items()
    if f"{formula.__module__}.{formula.__name__}" in homes().values() and "predict" not in formula.__name__
}
TAKEN |= {
    capacity.finite_capacity: (10, 0.5), capacity.asymptotic_capacity_associations: (10, 0.5),
    load.associations: (0.5, 10), storable.probability_storable: (10, 5),
    spectra.at_capacity: (0.5,), spectra.initial_factored: (0.5,), minimiser: (50, 20),
}  # fmt: skip


def without_nan(found):
    if is_dataclass(found) or isinstance(found, tuple):
        return all(map(without_nan, astuple(found) if is_dataclass(found) else found))
    return not isinstance(found, float | np.ndarray) or not np.isnan(found).any()


@pytest.mark.parametrize("formula", TAKEN, ids=lambda formula: formula.__name__)
def test_a_number_or_a_sentence(formula):
    given = dict(zip(signature(formula).parameters, TAKEN[formula]))
    call = lambda named: formula(*list(named.values())[:2], **dict(list(named.items())[2:]))  # noqa: E731
    assert without_nan(call(given))
    for name in given.keys() - {"memories"}:
        for extreme in EXTREME:
            if formula is minimiser and extreme in (2, 1, 10**15):
                continue
            try:
                assert without_nan(call(given | {name: extreme})), (name, extreme)
            except ValueError as error:
                said = str(error)
                assert " is " in said and "but must be" in said and len(said) < 500, (name, extreme)
                assert any(argument in said.partition(" is ")[0] for argument in given), said


@pytest.mark.parametrize("arguments", [
    {"d": 10}, {"facts": 10}, {"d": 10, "facts": 20}, {"d": 10, "load": 0.5}, {"facts": 10, "load": 0.5},
    {"d": 1, "facts": 10**15},
])  # fmt: skip
@pytest.mark.parametrize("name", ["d", "facts", "load", "kappa"])
def test_a_prediction_or_a_sentence(arguments, name):
    for extreme in EXTREME:
        try:
            found = predict(**arguments | {name: extreme})
        except ValueError as error:
            assert "but must be" in str(error) or "determined" in str(error)
        else:
            numbers = [value for value in vars(found).values() if not isinstance(value, str | tuple | None)]
            assert all(map(math.isfinite, numbers)), extreme
            assert 0 <= found.hebbian_accuracy <= 1 and 0 <= found.hebbian_probability_all_stored <= 1
