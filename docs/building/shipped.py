"""Capacities of full memories from the records that come with the repository."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from docs.building.links import ROOT
from loadstone.runs.pack import packed_records
from loadstone.studies.kit.brackets import Bracket, middles, proved_bracket, resolution
from loadstone.studies.kit.rows import Row, grouped, row_of
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.storable import storable_interval

#: The largest pack has neither proved capacities nor searches for the largest number that can be stored.
_WITHOUT = "paper.zip"
PROVED, STORED = "proved", "stored"


@dataclass(frozen=True)
class Point:
    """The mean capacity of some streams of one problem and dimension.

    The capacity of a stream lies between the largest p that fits and the smallest that does not, so the middle of the
    two is compared with the p that solves p D(p) = d^2. `error` is the standard error of the mean: of so many streams
    with the scatter that theory gives, because a few streams do not tell their own, and with what the brackets leave
    open.
    """

    problem: str
    d: int
    way: str
    streams: int
    p: float
    error: float

    @property
    def predicted(self) -> float:
        """The p with p D(p) = d^2."""
        return float(capacity_associations(self.d))


@cache
def thresholds() -> list[Row]:
    """Every proved capacity, and every search for the largest number that can be stored."""
    packs = [path for path in sorted((ROOT / "results" / "paper").glob("*.zip")) if path.name != _WITHOUT]
    records = {one.key: one for pack in packs for one in packed_records(pack)}  # some are in two packs
    rows = [row_of(one.spec, one.result, one.circumstances) for one in records.values()]
    return [row for row in rows if row["solver"] in ("capacity", "reach")]


def full_rank_points() -> list[Point]:
    """Capacities of full memories with Gaussian vectors and one answer a fact, by problem and dimension.

    Where a dimension has proofs, searches are left out. Dimensions without records come from an older table of exact
    capacities (benchmarks/threshold_shift.json).
    """
    points = {}
    for way in (STORED, PROVED):
        rows = [row | {"bracket": _bracket(row)} for row in thresholds() if _is_plain(row) and _way(row) == way]
        for (problem, d), group in grouped([row for row in rows if row["bracket"]], "problem", "d"):
            streams = [_narrowest(one) for _, one in grouped(group, "seed")]
            points[problem, d] = _point(problem, d, way, streams)
    for row in json.loads((ROOT / "benchmarks" / "threshold_shift.json").read_text())["rows"]:
        key = row["problem"], row["d"]
        if key not in points:
            points[key] = Point(*key, PROVED, row["streams"], row["mean"] + 0.5, row["error"])
    return [points[key] for key in sorted(points)]


def large_runs() -> list[tuple[int, int]]:
    """Dimension and number of facts of the large memories that were stored once, and proved; more was not tried."""
    runs = json.loads((ROOT / "benchmarks" / "hero_h200.json").read_text())["original"]
    return [(run["d"], run["p"]) for run in runs if run["proof"]["violations or unproved"] == 0]


def _is_plain(row: Row) -> bool:
    usual = {"answers": None, "family": None, "kappa": 1, "law": "gaussian"}
    return all(row.get(name, value) == value for name, value in usual.items())


def _way(row: Row) -> str:
    return PROVED if row["solver"] == "capacity" else STORED


def _bracket(row: Row) -> Bracket | None:
    if row["solver"] == "capacity":
        return proved_bracket(row)
    return row["stored"], row["not_stored"] - 1


def _narrowest(rows: list[Row]) -> Bracket:
    return min((row["bracket"] for row in rows), key=lambda bracket: bracket[1] - bracket[0])


def _point(problem: str, d: int, way: str, brackets: list[Bracket]) -> Point:
    sizes = np.asarray(middles(brackets)) + 0.5
    error = math.hypot(_scatter(d) / math.sqrt(len(sizes)), resolution(brackets))
    return Point(problem, d, way, len(sizes), float(sizes.mean()), error)


@cache
def _scatter(d: int) -> float:
    """The deviation of the capacity of a stream: half of an interval that holds it as often as one sigma does."""
    low, high = storable_interval(d, 0.6827)
    return (high - low) / 2
