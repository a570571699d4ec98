"""How the passes that an optimiser takes grow as a stream approaches its proved capacity.

At distance x = 1 - p / p_c the median over streams follows passes ~ x^-z in the range that is measured. A search that
ran out of passes took more than any that did not, so medians know what to do with it; nothing is left out.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float64

from loadstone.studies.kit.rows import Row, grouped

#: Exponents are fitted to distances up to this one: further away other things than the capacity slow a search down.
FURTHEST = 0.1
#: How often streams are drawn again for the standard error of an exponent.
_RESAMPLED = 400


def approached(rows: list[Row]) -> list[dict]:
    """For each dimension, law and optimiser: at each distance the median and the quartiles of the passes (None where
    that many streams were not stored) and how many streams were stored; and the exponent z with its standard error."""
    proved = [row | _tried(row) for row in rows if _is_approach(row) and row["p_c"] is not None]
    curves = []
    for (problem, d, exponent, optimiser), group in grouped(proved, "problem", "d", "exponent", "optimiser"):
        passes = np.array([[taken if ok else math.inf for _, ok, _, taken in row["attempts"]] for row in group])
        distances = np.array([[1 - one[0] / row["p_c"] for one in row["attempts"]] for row in group])
        exponents = {"z": slope(distances, passes), "error": _error(distances, passes)}
        curves.append(
            {"problem": problem, "d": d, "law_exponent": exponent, "optimiser": optimiser, "streams": len(group)}
            | {"limit": _limit(group), "nominal": group[0]["distances"]}
            | {"distance": distances.mean(axis=0).tolist(), "stored": np.isfinite(passes).sum(axis=0).tolist()}
            | {f"{name}": _quantile(passes, share) for name, share in _QUANTILES.items()}
            | {name: None if math.isnan(value) else value for name, value in exponents.items()}
        )
    return curves


_QUANTILES = {"lower": 0.25, "median": 0.5, "upper": 0.75}


def slope(distances: Float64[np.ndarray, "streams sizes"], passes: Float64[np.ndarray, "streams sizes"]) -> float:
    """z in median passes ~ distance^-z by least squares of the logarithms, over distances below FURTHEST (with room for
    whole associations) at which most streams were stored; not a number if there are fewer than two."""
    mean, median = distances.mean(axis=0), _medians(passes, 0.5)
    used = (mean > 0) & (mean < 1.2 * FURTHEST) & np.isfinite(median)
    x, y = np.log(mean[used]), np.log(median[used])
    if len(np.unique(x)) < 2:  # in small streams several distances are the same number of associations
        return math.nan
    x = x - x.mean()
    return -float((x * y).sum() / (x * x).sum())


def _error(distances: Float64[np.ndarray, "streams sizes"], passes: Float64[np.ndarray, "streams sizes"]) -> float:
    """The standard error of the slope, from streams drawn again with replacement (bootstrap)."""
    if len(passes) < 3:
        return math.nan
    draws = np.random.default_rng(0).integers(0, len(passes), (_RESAMPLED, len(passes)))
    found = np.array([slope(distances[draw], passes[draw]) for draw in draws])
    found = found[np.isfinite(found)]
    return float(found.std(ddof=1)) if len(found) > _RESAMPLED // 2 else math.nan


def _medians(passes: Float64[np.ndarray, "streams sizes"], share: float) -> Float64[np.ndarray, "sizes"]:
    """Quantiles among streams; between a number and infinity, which no interpolation knows, infinity."""
    rank = np.sort(passes, axis=0)
    place = share * (len(passes) - 1)
    low, high = rank[math.floor(place)], rank[math.ceil(place)]
    with np.errstate(invalid="ignore"):  # infinity minus infinity, which is not used
        return np.where(np.isfinite(high), low + (place % 1) * (high - low), math.inf)


def _limit(rows: list[Row]) -> int:
    """After how many passes a search was given up; that is less than was allowed where a schedule ended before."""
    given_up = [taken for row in rows for _, stored, _, taken in row["attempts"] if not stored]
    return max(given_up, default=max(row["limit"] for row in rows))


def _quantile(passes: Float64[np.ndarray, "streams sizes"], share: float) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in _medians(passes, share)]


def _is_approach(row: Row) -> bool:
    return row["solver"] == "approach"


def _tried(row: Row) -> dict[str, object]:
    """The optimiser's text, and the exponent of the embeddings' variances (0: all alike)."""
    _, _, exponent = str(row["law"]).partition("power law:exponent=")
    default = 1.0 if row["law"] == "power law" else 0.0
    return {"optimiser": row.get("parameters", {}).get("optimiser", "lbfgs"), "exponent": float(exponent or default)}
