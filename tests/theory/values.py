"""What every formula of the theory gives for a few arguments, as it was once found right.

    python -m tests.theory.values      # after a deliberate change: rewrite values.json, and read its diff

Other tests say why these numbers are right: limits, exact cases, other derivations, Monte Carlo. Where they compare
with samples they allow some standard errors, and a small mistake hides there: a sampled formula with a fixed seed gives
the same number every time, and any other number is noticed here.
"""

import itertools
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from inspect import signature
from pathlib import Path

import numpy as np

from loadstone.frequencies import shares_of
from loadstone.theory import (
    alone,
    answers,
    bits,
    capacity,
    caveats,
    codimension,
    cone,
    entropy,
    families,
    finite_margin,
    given_facts,
    hebbian,
    listwise,
    load,
    margin,
    minimiser,
    output_lengths,
    prediction,
    question,
    scores,
    skew,
    solution_scores,
    some_lost,
    spectra,
    storable,
    typical,
)

KEPT = Path(__file__).with_name("values.json")
#: Formulas agree to so much: their digits, and what another library's rounding does to sums.
TOLERANCE = 1e-7
#: Where an iteration stops once it is near enough, at the latest when this much is left.
LOOSE = 1e-4
ITERATED = {"free_entropy_curve", "finite_free_entropy", "facts_free_entropy", "skewed_capacity", "given_facts_law",
            "random_target_capacity", "minimiser", "typical", "at_cosine", "predict_facts",
            "length_shift", "list_capacity"}  # fmt: skip

#: Families of memories: subspaces, cones, and those that are not convex.
FAMILIES = ("full", "symmetric", "skew", "diagonal", "blocks:2", "masked:0.5", "rank:3", "psd", "nonnegative")
FULL = families.statistical_dimension("full", 12)
SKEW = families.statistical_dimension("skew", 7, directions=5)
OF_FOUR = [families.statistical_dimension(name, 4) for name in ("full", "psd", "rank:2", "symmetric")]
SPECTRA = {f"{law.__name__}({kappa})": law(kappa) for law in (spectra.at_capacity, spectra.initial_factored)
           for kappa in (0.0005, 0.3, 1.0)}  # fmt: skip
LONG = np.sqrt(np.random.default_rng(3).chisquare(9, 6) / 9)
QUERIES = solution_scores.solution_queries(0.4, 4, 5, 0.3, 20, 1, 30)


def calls() -> Iterator[tuple[str, Callable, tuple]]:
    """A name, a formula and its arguments."""
    for formula, arguments in FORMULAS.items():
        for given in arguments:
            yield formula.__name__, formula, given
    for name, law in SPECTRA.items():
        yield name, law.density, ([0.0, 0.4, 1.1, 1.9],)
        yield name, law.cdf, ([0.0, 0.4, 1.1, 1.9, 2.0],)
        yield name, law.quantile, ([0.1, 0.75, 0.999],)
        yield name, lambda law=law: (law.atom, law.nonzero().quantile(0.5)), ()
        yield name, law.sample, (3, np.random.default_rng(0))


def values(chosen: str) -> list:
    """What a formula gives, or what it says if it does not."""
    found = [[_written(given), _result(formula, given)] for name, formula, given in calls() if name == chosen]
    return json.loads(json.dumps(found))


def _result(formula: Callable, given: tuple) -> object:
    try:
        return _plain(formula(*given[:2], **dict(zip(list(signature(formula).parameters)[2:], given[2:]))))
    except ValueError as error:
        return str(error)


def _plain(value: object) -> object:
    """Numbers by themselves, and arrays as their first, their last, their mean and that of their squares."""
    if is_dataclass(value):
        return [_plain(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, np.ndarray) and value.size > 8:
        flat = value.ravel()
        return [str(value.shape), *map(_plain, (flat[0], flat[-1], flat.mean(), (flat**2).mean()))]
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(one) for one in value]
    if isinstance(value, bool | np.bool_ | str | None):
        return value if value is None or isinstance(value, str) else bool(value)
    return float(f"{float(value):.10g}") if math.isfinite(value) else str(value)


def _written(given: tuple) -> str:
    return ", ".join(type(one).__name__ if isinstance(one, np.ndarray | np.random.Generator) or is_dataclass(one)
                     else str(one) for one in given)  # fmt: skip


def differences(now: object, then: object, tolerance: float) -> Iterator[str]:
    """Where values are not those that were kept."""
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        for one, other in zip(now, then):
            yield from differences(one, other, tolerance)
    elif isinstance(now, float) and isinstance(then, float):
        if abs(now - then) > tolerance * (abs(then) + 1e-4):
            yield f"{now!r}, but {then!r} was kept"
    elif now != then:
        yield f"{now!r}, but {then!r} was kept"


FORMULAS: dict[Callable, list[tuple]] = {
    alone.winning_queries: [(5, 4), (30, 4), (200, 6), (4000, 3), (9, 8)],
    alone.query_dimension: [(FULL,), (SKEW,)],
    alone.half_storable: [(60, families.statistical_dimension("full", 5)), (6, FULL), (40, SKEW), (900, FULL)],
    answers.facts_capacity: [
        (family, 12, count, decoupled)
        for family in ("full", "symmetric", "skew", "blocks:2", "rank:3")
        for count in (None, 8, 40)
        for decoupled in (False, True)
    ] + [("full", 2), ("full", 6, 9, False, 0.5), ("full", 6, None, False, 0.5), ("full", 3, 400, False, 0.1)],
    bits.counting_bound: [(4, 1.0), (20, 2.5)],
    bits.rounded_facts: [(10, 1), (20, 2), (20, 4)],
    capacity.capacity: [([1e-28, 1e-20, 1e-4, 0.02, 0.3, 0.9, 1.0],)],
    capacity.finite_capacity: [([2, 9, 1000], 0.4)],
    capacity.capacity_associations: [([1, 1.5, 2, 7, 40, 5000],), (30, [0.1, 0.5])],
    capacity.asymptotic_capacity_associations: [(30, [0.1, 1.0])],
    capacity.hebbian_associations: [([3, 30],)],
    capacity.parameters: [(10, [0.01, 0.25, 1.0])],
    capacity.bits_per_parameter: [(50, 10), (50, 10, 0.5, "choice")],
    caveats.words_of_pairs: list(itertools.product((1, 5, 12, 50), (0.5, 1.0), (False, True))),
    codimension.codimension: [(7,), (7, 0.6), ([2, 10, 10**6], 0.5), (10, [0.0, 3.0, 900.0])],
    cone.log_solid_angles: [(5,), (200,)],
    cone.merge_law: [(2,), (3,), (50,), (10**6,), (10**15,)],
    cone.project: [([1.0, 2.0, -1.0, 1.8],), ([[0.0, 1.0, 3.0], [2.0, 1.0, 0.0]],)],
    entropy.energetic_lower_bound: [(0.3,)],
    entropy.energetic_upper_bound: [(0.3, [1, 4])],
    entropy.energetic: [([0.0, 0.3, 0.9], 10, 9, 1), (0.5, 2), (0.999, 50, 6, 0)],
    entropy.free_entropy: [([0.1, 0.4, 0.5, 0.7],)],
    entropy.overlap: [([0.1, 0.5, 0.7],)],
    entropy.annealed: [(0.3,)],
    entropy.finite_free_entropy: [([0.1, 0.4, 0.9], 10, 8, 0), (0.3, 2)],
    entropy.facts_free_entropy: [(5, 4, 16.0, 6, 0)],
    entropy.free_entropy_curve: [([0.1, 0.3, 0.9], 10, 8, 0)],
    prediction.predict_facts: [
        (6,), (None, 20), (None, 20, 5), (4, 200, 100), (3, None, 50), (12, None, 8, "symmetric"),
        (12, 30, 8, "rank:3"), (12, 30, 40, "blocks:2", True), (8, 10, 6, "full", False, 0.4),
        (12, 30, 8, "full", False, 0.0, "zipf:1"), (6, 30, 20, "full", False, 0.0, "zipf:1"),
        (12, 30, 8, "skew", False, 0.2, "zipf:1"), (12, 20, 8, "nonnegative"), (1, 2), (3, 40, 30, "full", False, 0.1),
    ],
    caveats.words_of_impossible_facts: [
        (0.04,), (0.06,), (0.6, 0.2), (3.0,), (3.0, 0.0, True), (1.4,), (12.0, 0.5, True),
    ],
    families.statistical_dimension: [(family, 12, seen) for family in FAMILIES for seen in (None, 5)],
    families.rectangular: [(3, 4)],
    families.directions_shown: [(5, 3), (5, 9), (5, 9, True), (5, 3, True)],
    finite_margin.finite_largest_margin: [(8, 10, 2, inputs, "sphere", 16, 0) for inputs in ("gaussian", "sphere")]
    + [(6, 9, 4, "gaussian", "gaussian", 16, 1)],
    given_facts.given_facts_law: [
        (np.array([2, 2, 2, 2, 1]), 6, 6, 4), (np.array([9, 3, 1, 1, 0]), 6, 6, 4), (np.array([2] * 9), 6, 5, 4),
        (np.array([2] * 9), 6, 6, 6, "symmetric"), (np.array([3] * 9), 6, 4, 6, "symmetric"),
        (np.array([9] + [1] * 11), 6, 6, 6), (np.array([2] * 40), 3, 3, 3), (np.array([5, 1, 1]), 6, 1, 2),
    ],
    hebbian.target_mean: [(10, 0.5)],
    hebbian.score_moments: [(10, 5)],
    hebbian.failure: [([10, 1000, 10**9], [0.5, 0.1, 0.05])],
    hebbian.finite_failure: [(2, 1), (2, 5), (3, 2), (10, 5), (30, 20), (5, 60)],
    hebbian.finite_probability_all_stored: [(5, 30)],
    hebbian.chi_square_nodes: [(0, 3), (1, 3), (7, 4)],
    hebbian.component_nodes: [(1, 3), (2, 3), (7, 4)],
    listwise.list_codimension: [(6, 1), (6, 2, 2), (6, 5, 2), (200, 3, 2), (400, 150, 2)],
    listwise.limit_codimension: [(0.01,), (0.5,), (1.0,)],
    listwise.list_capacity: [(4, 2, 2), (10, 3, 2)],
    listwise.limit_capacity: [(10, 3), (30, 2)],
    load.load: [(10, 5)],
    load.associations: [([1e-9, 0.5], 10)],
    load.nearest_associations: [(0.5, 10), (0.3, 7)],
    load.dimension: [(0.5, 10)],
    load.nearest_dimension: [(0.5, 10), (0.3, 77), (50.0, 2)],
    margin.margin_capacity: [
        (100.0, 10, 0.5), (100.0, None, [0.0, 0.5]), (0.5, 10, 0.5), (4.0, 9, 3.0), (0.9, None, 0.0), (5.0, None, 9.0),
    ],
    margin.largest_margin: [(100.0, 5, 10), (100.0, 20), (100.0, 60), (100.0, 90, 10), (1e9, 2)],
    minimiser.minimiser: [
        (50, 20, 1024, 0), (12, 3, 1024, 1), (20, 6, 1025, 0), (900, 20, 1024, 2), (40, 5, 1024, 0, 6, 18.0),
    ],
    output_lengths.length_shift: [(0.4, 8, 36.0, 6, 20, 0)],
    entropy.log_share: [(LONG - 1, LONG), (1 - LONG, LONG)],
    prediction.predict: [(20, 85), (20,), (None, 50), (1,)],
    question.least_dimension: [(2,), (10,), (10, 0.5)],
    question.whole_part: [(1.0,), (2 - 1e-10,), (2.5,), (1e14 + 0.9,)],
    scores.target_density: [([-1.0, 0.5, 2.0], 10)],
    scores.target_mean: [([2, 10, 10**5],)],
    scores.target_deviation: [([2, 10, 10**5],)],
    scores.rival_density: [([-1.0, 0.5, 2.0], 10)],
    scores.rival_deviation: [([2, 10, 10**5],)],
    skew.skewed_capacity: [(10, [1, 1, 2], 100, 0), (10, [3, 2, 2, 0]), (10, shares_of(9, "zipf:1")), (6, [1] * 5)],
    skew.random_target_capacity: [(3, [1, 1], 2, 100, 0)],
    skew.weighted_projection: [
        (np.random.default_rng(2).standard_normal((5, 4)), np.array([1.0, 0.3, 2.0, 0.7]), np.array([0, 1, 2, 3, 0])),
    ],
    solution_scores.solution_queries: [(0.4, 4, 5, 0.3, 6, 1, 30), (0.0, 3, 4, 0.2, 6, 0, 20), (0.4, 2, 40, 0.3)],
    solution_scores.recalled_with_noise: [(QUERIES.outputs, QUERIES.typical, 0.3, 5, 2)],
    solution_scores.scores_by_length: [(QUERIES.outputs, QUERIES.centre)],
    solution_scores.rounding_noise: [(1,), (4,)],
    some_lost.codimension_with_losses: [(5, 0.1, 2), (300, 0.03, 2), (5, 0, 2)],
    some_lost.capacity_with_losses: [(4, 10, 2), (9, 7, 2)],
    storable.probability_storable: [([2, 20, 30, 33, 300], [1, 9, 10, 10, 36])],
    storable.storable_interval: [(5, 0.5), (12,)],
    storable.capacity_moments: [(1,), (5,), (20,)],
    storable.probability_facts_storable: list(itertools.product((1, 6, 40), (2, 5, 30), OF_FOUR)),
    storable.facts_interval: [(5, FULL, 0.9), (40, OF_FOUR[0])],
    storable.mean_facts: [(5, FULL), (40, OF_FOUR[0]), (5, OF_FOUR[2])],
    typical.at_cosine: [(0.3, 1, 2, 2, 0, True), (0.5, 0.5, 6, 3, 1)],
    typical.typical: [(0.1, 1, 4, 2, 0), (0.6, 1.0)],
    typical.Typical.load: [(typical.Typical(0.5, 0.4, 0.9, np.ones((1, 2))), p) for p in (None, 2)],
}  # fmt: skip


def written(kept: dict[str, list]) -> str:
    """As JSON, a call in a line."""
    lines = ",\n".join(
        f'"{name}": [\n ' + ",\n ".join(json.dumps(call, ensure_ascii=False) for call in of_formula) + "\n]"
        for name, of_formula in kept.items()
    )
    return f"{{\n{lines}\n}}\n"


if __name__ == "__main__":
    KEPT.write_text(written({name: values(name) for name, *_ in calls()}))
