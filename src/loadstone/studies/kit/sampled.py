"""Records of sampled solutions: those that studies of all solutions read, and how full the memories were."""

from __future__ import annotations

from loadstone.studies.kit.rows import Row
from loadstone.theory.capacity import capacity_associations

#: Three memories that represent all solutions: their names in records, and in words.
MEMORIES = {"typical": "typical solutions", "centre": "their centre", "largest margin": "the largest margin"}
#: The number of associations is whole, so no share of the capacity is met exactly: shares are rounded to these steps.
_STEPS = 20


def sampled(rows: list[Row], holding: str | None = None) -> list[Row]:
    """The rows of sampled solutions: of full memories in which each input has an output of its own.

    holding: only rows that have this field.
    """
    solutions = [row for row in rows if row["solver"] == "space" and row.get("answers") is None]
    full = [row for row in solutions if row.get("family", "full") == "full"]
    return full if holding is None else [row for row in full if row.get(holding) is not None]


def nearest_share(p: int, d: int) -> float:
    """The share of the predicted capacity that p associations are, to the nearest twentieth."""
    return round(_STEPS * p / float(capacity_associations(d))) / _STEPS
