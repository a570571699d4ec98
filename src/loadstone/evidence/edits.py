"""What is lost when a memory is edited, beside the capacity."""

from __future__ import annotations

import math

import numpy as np

from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.capacity import capacity_associations

#: What the parameters of a record stand for where it does not state them (tasks/edits.py).
_UNSAID = {"method": "rank-one", "action": "add"}
#: A method has broken down when this share of the facts that were to stay is lost.
BROKEN = 0.05


def lost_by_edits(rows: list[Row]) -> list[dict]:
    """For each action, dimension, number of facts at the start and method: after each number of edits the mean share of
    the old facts that are lost and of the edits that are missed, with standard errors over the streams.

    load: facts after the edits divided by the predicted capacity.
    changed: share of the facts at the start that were changed.
    lost: None where no fact was to stay.
    harmless: the number of edits up to which no fact was lost or missed at any count, mean over streams.
    broken: the number of edits at which BROKEN of the old facts are lost, between two counts by a straight line.
    """
    edited = [
        row | {name: row.get("parameters", {}).get(name, unsaid) for name, unsaid in _UNSAID.items()}
        for row in rows
        if row["solver"] == "edits" and "lost" in row
    ]
    curves = []
    for (action, d, p, method), group in grouped(edited, "action", "d", "p", "method"):
        edits = _in_all(group)
        if not edits:
            continue
        adds, capacity = action == "add", float(capacity_associations(d))
        stay = [p if adds else p - count for count in edits]
        lost = [_share([_at(row, "lost", count) for row in group], most) for count, most in zip(edits, stay)]
        missed = [_share([_at(row, "missed", count) for row in group], count) for count in edits]
        curve = {"action": action, "d": d, "p": p, "method": method, "streams": len(group), "capacity": capacity}
        curve |= {"edits": edits, "load": [(p + adds * count) / capacity for count in edits]}
        curve |= {"changed": [(not adds) * count / p for count in edits]}
        curve |= {"lost": [mean for mean, _ in lost], "lost_error": [error for _, error in lost]}
        curve |= {"missed": [mean for mean, _ in missed], "missed_error": [error for _, error in missed]}
        curve |= {"undecided": sum(row["undecided"][-1] for row in group)}
        curve |= {"harmless": float(np.mean([_harmless(row) for row in group]))}
        curves.append(curve | {"broken": _crossing(edits, curve["lost"])})
    return curves


def _in_all(group: list[Row]) -> list[int]:
    """Numbers of edits after which every stream was counted."""
    return sorted(set.intersection(*(set(row["edits"]) for row in group)))


def _at(row: Row, name: str, edits: int) -> int:
    return row[name][row["edits"].index(edits)]


def _share(counts: list[int], most: int) -> tuple[float | None, float | None]:
    if not most:
        return None, None
    shares = np.divide(counts, most)
    return float(shares.mean()), deviation(shares) / math.sqrt(len(shares))


def _harmless(row: Row) -> int:
    before = 0
    for edits, lost, missed in zip(row["edits"], row["lost"], row["missed"]):
        if lost or missed:
            break
        before = edits
    return before


def _crossing(edits: list[int], lost: list[float | None]) -> float | None:
    before, below = 0.0, 0.0
    for count, share in zip(edits, lost):
        if share is None:
            return None
        if share >= BROKEN:
            return before + (count - before) * (BROKEN - below) / (share - below)
        before, below = float(count), share
    return None
