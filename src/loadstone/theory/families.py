"""Statistical dimension of families of d x d memories: how much room each has for facts.

A family is a cone C of matrices. The law N D(M) = delta(C) knows it through its statistical dimension alone,

    delta(C) = E max over W in C, |W|_F = 1, of <G, W>^2   (G Gaussian, the maximum taken as 0 if it is negative),

which is n for a linear subspace of n dimensions. How sharp the threshold is follows from the law of J, the dimension of
the face of C on which the projection of G lands: its mean is delta, and for a subspace J = n always.

Outputs that all inputs share show only r = min(d, M - 1) directions of the queries: M scores do not change under a
common shift. A family is then seen as {B W}, B being r x d and random. Decoupled outputs show all d directions.
docs/theory/one_law.md derives each value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import bdtr, ndtri

from loadstone.arguments import refuse, whole
from loadstone.families_text import FamilyText, family_name, family_text, told_dimension
from loadstone.readable import readable
from loadstone.theory.capacity import MOST_DIMENSION, capacity


@dataclass(frozen=True)
class FaceLaw:
    """The exact law of J, the dimension of the face on which the projection lands: fixed, plus a number of coins."""

    #: The part that is always the same.
    fixed: int
    #: How many fair coins are added, each 0 or 1.
    coins: int = 0


@dataclass(frozen=True)
class StatisticalDimension:
    """How much room a family of d x d memories has, seen through `directions` directions of its queries."""

    #: The family, as text: a name, and its parameter after a colon.
    family: str
    #: Dimension of inputs and outputs.
    d: int
    #: How many directions of a query the outputs show.
    directions: int
    #: The statistical dimension.
    delta: float
    #: Whether it only bounds the capacity from above, because the family is not convex.
    bound: bool = False
    #: The exact law of J, where it is known.
    faces: FaceLaw | None = None
    #: Var J, where it is known.
    variance: float | None = None

    __repr__ = readable


def statistical_dimension(family: str, d: int, *, directions: int | None = None) -> StatisticalDimension:
    """The statistical dimension of a family such as 'full', 'rank:25' or 'masked:0.5', see `FAMILIES`.

    Where no formula is known here, the family's class is asked: a subspace knows its dimension, and other classes may
    state one (docs/extending.md).

    `directions`: how many directions of a query the outputs show, 1..d (default: all).

    Example:
        >>> from loadstone.theory.families import statistical_dimension
        >>> statistical_dimension("symmetric", 10).delta
        55
    """
    d = whole("d", d, 1, MOST_DIMENSION)
    r = d if directions is None else whole("directions", directions, 1, d)
    if not _has_formula(family):
        stated = told_dimension(family, d, r)
        if stated is None:
            raise refuse("family", family, f"one of {_SHOWN}")
        room = _subspace(d, r, int(stated.delta)) if stated.is_linear else _bound(d, r, stated.delta)
        return replace(room, family=stated.family)
    text = family_text(family, _parameter_names)
    return replace(_by_formula(text.name, d, r, _value(family, text, d)), family=str(text))


def smallest_dimension(family: str) -> int:
    """The smallest d in which there is such a family: 'rank:25' and 'blocks:25' need 25."""
    if not _has_formula(family) or (parameter := FAMILIES[family_name(family)][1]) is None or parameter[1] != "number":
        return 1
    return int(_value(family, family_text(family, _parameter_names), MOST_DIMENSION))


def directions_shown(d: int, answers: int, decoupled: bool = False) -> int:
    """How many directions of a query M outputs show: min(d, M - 1) if all inputs share them, d if each has its own."""
    return d if decoupled else min(d, answers - 1)


def rectangular(rows: int, columns: int) -> StatisticalDimension:
    """All memories from inputs that span `columns` dimensions to outputs that show `rows` of them."""
    rows, columns = whole("rows", rows, 1, MOST_DIMENSION), whole("columns", columns, 1, MOST_DIMENSION)
    return replace(_subspace(max(rows, columns), rows, rows * columns), family="full")


#: From d, the directions that are shown and the parameter of the family (0 if it has none).
Formula = Callable[[int, int, float], StatisticalDimension]


@lru_cache(maxsize=4096)
def _by_formula(name: str, d: int, r: int, value: float) -> StatisticalDimension:
    return FAMILIES[name][0](d, r, value)


def _subspace(d: int, r: int, n: int) -> StatisticalDimension:
    return StatisticalDimension("", d, r, n, faces=FaceLaw(n), variance=0.0)


def _bound(d: int, r: int, delta: float) -> StatisticalDimension:
    """The upper bound of a family that is not convex."""
    return StatisticalDimension("", d, r, delta, bound=True)


def _linear(dimension: Callable[[int, int], int]) -> Formula:
    return lambda d, r, _: _subspace(d, r, dimension(d, r))


def _blocks(d: int, r: int, count: float) -> StatisticalDimension:
    """Blocks of equal size on the diagonal; if `count` does not divide d, sizes differ by one. A column of W with n_j
    entries shows min(n_j, r) numbers."""
    size, larger = divmod(d, int(count))
    smaller = int(count) - larger
    return _subspace(d, r, larger * (size + 1) * min(size + 1, r) + smaller * size * min(size, r))


def _masked(d: int, r: int, density: float) -> StatisticalDimension:
    """n = round(density d^2) entries at random positions. If not all directions are shown, delta is the mean over masks
    of the sum of min(n_j, r), n_j being the entries of column j."""
    n = _entries(density, d)
    if r == d:
        return _subspace(d, r, n)
    spread = 40 * math.sqrt(n / d * (1 - n / d**2)) + 1
    count = np.arange(max(0, math.floor(n / d - spread)), min(d, math.ceil(n / d + spread)) + 1)
    from scipy.stats import binom, hypergeom  # takes half a second to import

    law = hypergeom(d * d, n, d).pmf(count) if d <= _MOST_COUNTED else binom(d, n / d**2).pmf(count)
    law /= law.sum()
    shown = np.minimum(count, r)
    mean, variance = law @ shown, np.cov(np.stack([shown, count]), aweights=law, ddof=0)
    # The n_j sum to n, so only the part of min(n_j, r) that is not linear in n_j varies from mask to mask.
    rest = d * float(variance[0, 0] - variance[0, 1] ** 2 / variance[1, 1]) if variance[1, 1] > 0 else 0.0
    if rest < 1e-9:
        return _subspace(d, r, round(d * mean))
    return StatisticalDimension("", d, r, float(d * mean), variance=rest)


def _nonnegative(d: int, r: int, _: float) -> StatisticalDimension:
    """Each column is an orthant, whose J is binomial. A random image of it in r dimensions has min(J, r) on average."""
    if r == d:
        return StatisticalDimension("", d, r, d * d / 2, faces=FaceLaw(0, d * d), variance=d * d / 4)
    # The columns are seen through the same B, so their J are not independent: the law of the sum is not known.
    above = 1 - bdtr(r - 1, d, 0.5)
    below = bdtr(r - 2, d - 1, 0.5) if r > 1 else 0.0
    return StatisticalDimension("", d, r, float(d * (r * above + d / 2 * below)))


def _psd(d: int, r: int, _: float) -> StatisticalDimension:
    """Half of the symmetric matrices. Var J tends to (4/pi^2 - 1/4) d^2; the term in d makes it exact at d = 1."""
    _check_all_shown("positive semidefinite", d, r)
    variance = (4 / math.pi**2 - 1 / 4) * d * d + (1 / 2 - 4 / math.pi**2) * d
    return StatisticalDimension("", d, r, d * (d + 1) / 4, variance=variance)


def _rank(d: int, r: int, m: float) -> StatisticalDimension:
    """E of the sum of the m largest squared singular values of a Gaussian r x d matrix, in the limit of large sizes."""
    if m >= r:
        return _subspace(d, r, d * r)
    if r == d:
        return _bound(d, r, 2 * float(capacity(m / d)) * d * d)
    # Squared values over d are x = 1 + b + 2 sqrt(b) cos(angle), b = r / d, with density (2/pi) sin^2(angle) / x.
    ratio = r / d
    density = lambda angle: 2 / math.pi * math.sin(angle) ** 2 / (1 + ratio + 2 * math.sqrt(ratio) * math.cos(angle))  # noqa: E731
    angle = brentq(lambda end: quad(density, 0, end)[0] - m / r, 0, math.pi, xtol=1e-13)
    return _bound(d, r, d * r * (angle - math.sin(angle) * math.cos(angle)) / math.pi)


def _pruned(d: int, r: int, density: float) -> StatisticalDimension:
    """The n largest of d^2 squared normal numbers: d^2 E[g^2; |g| > t] with P(|g| > t) = density."""
    _check_all_shown("pruned", d, r)
    n = _entries(density, d)
    if n == d * d:
        return _subspace(d, r, d * r)
    t = -float(ndtri(n / (2 * d * d)))
    mean = n / (d * d) + 2 * t * math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    return _bound(d, r, d * d * mean)


def _check_all_shown(which: str, d: int, r: int) -> None:
    if r < d:
        raise ValueError(
            f"The statistical dimension of {which} memories is not known for {r + 1} answers at d = {d}: "
            "give more than d answers, or take decoupled outputs."
        )


def _entries(density: float, d: int) -> int:
    return max(1, round(density * d * d))


#: Up to this d the entries of a masked column are counted by their exact law; beyond it binomial, the same to 1e-9.
_MOST_COUNTED = 10**4

#: Each family, with the name of its parameter and what that is: a whole 'number' in 1..d, or a 'share' in (0, 1].
FAMILIES: dict[str, tuple[Formula, tuple[str, str] | None]] = {
    "full": (_linear(lambda d, r: d * r), None),
    "rank": (_rank, ("m", "number")),
    # With B = (1 0), B W shows the first r rows of W: an r x r block of the family, and r (d - r) free numbers beside.
    "symmetric": (_linear(lambda d, r: d * r - r * (r - 1) // 2), None),
    # The trace is a condition on what is seen only if everything is seen.
    "traceless": (_linear(lambda d, r: d * r - r * (r - 1) // 2 - (r == d)), None),
    "skew": (_linear(lambda d, r: d * r - r * (r + 1) // 2), None),
    "masked": (_masked, ("density", "share")),
    "blocks": (_blocks, ("count", "number")),
    # One direction already shows all d numbers.
    "circulant": (_linear(lambda d, r: d), None),
    "diagonal": (_linear(lambda d, r: d), None),
    "nonnegative": (_nonnegative, None),
    "psd": (_psd, None),
    "pruned": (_pruned, ("density", "share")),
}
_EXAMPLE = {"number": ":8", "share": ":0.5"}
_SHOWN = ", ".join(name + (_EXAMPLE[kind[1]] if kind else "") for name, (_, kind) in FAMILIES.items())


def _has_formula(family: object) -> bool:
    """Whether theory knows the family. A mask or a basis in a file is known to the memories only."""
    if not isinstance(family, str):
        raise refuse("family", family, f"one of {_SHOWN}")
    return family_name(family) in FAMILIES and not family.endswith(".npy")


def _parameter_names(name: str) -> tuple[str, ...]:
    parameter = FAMILIES[name][1]
    return () if parameter is None else (parameter[0],)


def _value(family: str, text: FamilyText, d: int) -> float:
    """The parameter of a family (0 if it has none), or a refusal."""
    parameter = FAMILIES[text.name][1]
    if parameter is None:
        return 0.0
    value = text.values.get(parameter[0])
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if parameter[1] == "number" and 1 <= value <= d and value == math.floor(value):
            return float(value)
        if parameter[1] == "share" and 0 < value <= 1:
            return float(value)
    allowed = {"number": f"{text.name}:K, K a whole number in 1..{d}", "share": f"{text.name}:S, S a number in (0, 1]"}
    raise refuse("family", family, allowed[parameter[1]])
