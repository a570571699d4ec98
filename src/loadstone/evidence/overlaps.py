"""The overlap of two solutions over streams: how much it scatters, how that falls as there are more associations, and
whether its law is normal.

The overlap is about a mean over p associations. If these were independent, it would scatter as p^(-1/2) and be normal.
What the chains do not know of each overlap is taken off its scatter.
"""

from __future__ import annotations

import math

import numpy as np

from loadstone.studies.kit.bounds import trend
from loadstone.studies.kit.comparison import Comparison, short_number, with_error
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.capacity import capacity_associations

#: With fewer streams the scatter is not known, and neither is the shape with fewer than that many.
_FEWEST, _FEWEST_FOR_SHAPE = 3, 8
#: Shares of the capacity are told in these steps, since p is whole.
_STEPS = 20
CENTRAL_LIMIT = "as for a mean over independent associations"


def overlap_laws(rows: list[Row]) -> list[dict]:
    """For each problem, dimension and number of associations: the deviation of the overlap over streams, of which
    `sampling` is from finite chains and `spread` is left for the streams; and the overlaps in units of it."""
    points = []
    for (problem, d, p), group in grouped(_with_overlap(rows), "problem", "d", "p"):
        values, errors = (np.array([row[name] for row in group]) for name in ("overlap", "overlap_error"))
        scatter, sampling = deviation(values), float(np.sqrt((errors**2).mean()))
        if len(group) < _FEWEST or scatter <= sampling:
            continue
        spread = math.sqrt(scatter**2 - sampling**2)
        points.append(
            {"problem": problem, "d": d, "p": p, "streams": len(group), "overlap": float(values.mean())}
            | {"share": round(_STEPS * p / float(capacity_associations(d))) / _STEPS}
            | {"scatter": scatter, "sampling": sampling, "spread": spread}
            | {"spread_error": scatter**2 / spread / math.sqrt(2 * (len(group) - 1))}
            | {"seeds": [row["seed"] for row in group]}
            | {"standardised": ((values - values.mean()) / values.std()).tolist()}
        )
    return points


def compare_overlaps(rows: list[Row]) -> list[Comparison]:
    """The exponent of p in the spread at each share of the capacity; third and fourth moment of all streams."""
    points = overlap_laws(rows)
    found = []
    for (problem, share), group in grouped(points, "problem", "share"):
        what = f"exponent of p in the spread of the overlap over streams, {problem}, {share:g} of the capacity"
        p, spread, error = ([one[name] for one in group] for name in ("p", "spread", "spread_error"))
        fit = trend(what, p, spread, error, freedom=sum(one["streams"] - 1 for one in group))
        if fit is not None:
            family = f"exponent of p in the spread of the overlap over streams, {problem}"
            found.append(
                Comparison(what, -0.5, fit.measured, fit.error, fit.freedom, CENTRAL_LIMIT, family, f"{share:g}")
            )
    for (problem,), group in grouped(points, "problem"):
        found += _shape(problem, group)
    return found


def law_in_words(rows: list[Row]) -> list[str]:
    """How much of the scatter over streams is from finite chains, and what is known of the shape."""
    points = overlap_laws(rows)
    words = [
        f"{one.what[0].upper()}{one.what[1:]}: {with_error(one.measured, one.error)}, for a normal law "
        f"{one.predicted:.2f}; a difference of less than {short_number(one.detectable)} would not have been seen."
        for (problem,), group in grouped(points, "problem")
        for one in _shape(problem, group)
    ]
    shares = [100 * (point["sampling"] / point["scatter"]) ** 2 for point in points]
    if shares:
        words.append(
            f"Of the variance of the overlap over streams {np.mean(shares):.1f} % is noise of finite chains on "
            f"average, at most {max(shares):.1f} %; it is taken off."
        )
    return words


def _shape(problem: str, points: list[dict]) -> list[Comparison]:
    """Skewness and fourth moment less 3, as means of Hermite polynomials. Streams at several p are nested, so each
    stream counts once, with its mean over p. Samples of n normal numbers have a fourth moment of 3 (n - 1) / (n + 1).
    """
    of_streams: dict[tuple[int, int], list[tuple[float, float, float]]] = {}
    for point in points:
        for seed, z in zip(point["seeds"], point["standardised"]):
            terms = (z**3 - 3 * z, z**4 - 6 * z**2 + 3, -6 / (point["streams"] + 1))
            of_streams.setdefault((point["d"], seed), []).append(terms)
    if len(of_streams) < _FEWEST_FOR_SHAPE:
        return []
    third, fourth, normal = np.array([np.mean(terms, axis=0) for terms in of_streams.values()]).T
    root, size = math.sqrt(len(third)), f"{problem} ({len(third)} streams)"
    return [
        Comparison(f"{words} of the overlap over streams, {size}", float(expected), float(values.mean()),
                   deviation(values) / root, len(values) - 1, CENTRAL_LIMIT, f"{words} of the overlap over streams",
                   problem, 0.0)
        for words, expected, values in (("skewness", 0.0, third), ("fourth moment less 3", normal.mean(), fourth))
    ]  # fmt: skip


def _with_overlap(rows: list[Row]) -> list[Row]:
    """Sampled full memories where each input has an output of its own."""
    plain = [row for row in rows if row["solver"] == "space" and row.get("answers") is None]
    return [row for row in plain if row.get("family", "full") == "full" and row.get("overlap_error") is not None]
