"""How many facts are proved to fit, and the law N D(M) = delta: few or many answers, and families of memories."""

from __future__ import annotations

import re
from functools import cache

from loadstone.studies.kit.brackets import mean_and_error, proved_bracket
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.rows import Row, grouped
from loadstone.theory.answers import facts_capacity, memories_seen
from loadstone.theory.storable import probability_facts_storable

SHARED_OUTPUTS = "the law is for decoupled outputs; shared ones deviate by a few per cent at small d"
#: Tails of the law of a capacity that are smaller than this do not change its mean.
_NEGLIGIBLE = 1e-9
#: The values of fields that a record does not state.
_DEFAULTS: Row = {"family": "full", "answers": None, "frequencies": "uniform"}


def proved_facts(rows: list[Row]) -> list[dict]:
    """For each problem, dimension, family, number of answers and their frequencies: the mean proved capacity of the
    streams, its standard error, how many streams stayed undecided, and what the law says.

    `answers` is None where every fact brings its own answer.
    """
    keyed = []
    for row in (_DEFAULTS | row for row in rows if row["solver"] == "capacity"):
        # Records spell out the name of a parameter ('blocks:count=8'); theory does not ('blocks:8').
        family = re.sub(r"\w+=", "", row["family"])
        # None cannot be sorted among numbers.
        keyed.append(row | {"order": row["answers"] or 0, "words": str(row["frequencies"]), "family": family})
    points = []
    for (problem, d, family, _, frequencies), group in grouped(keyed, "problem", "d", "family", "order", "words"):
        if not (streams := streams_of(group)):
            continue
        answers, decoupled = group[0]["answers"], problem == "decoupled"
        points.append(
            {"problem": problem, "d": d, "family": family, "answers": answers, "frequencies": frequencies}
            | streams
            | {"predicted": expected_capacity(family, d, answers, decoupled)}
            | {"delta": memories_seen(family, d, answers=answers or 10**9, decoupled=decoupled).delta}
        )
    return points


def streams_of(rows: list[Row]) -> dict[str, float]:
    """How many streams there are, how many of them stayed undecided, their mean proved capacity and its standard error;
    nothing if none has a capacity that is bounded from above."""
    brackets = [bracket for row in rows if (bracket := proved_bracket(row))]
    if not brackets:
        return {}
    facts, error = mean_and_error(brackets)
    undecided = sum(row["p_c"] is None for row in rows)
    return {"streams": len(brackets), "undecided": undecided, "facts": facts, "error": error}


def note_on(point: dict, note: str) -> str:
    """The note, followed by how many streams stayed undecided."""
    undecided = f"{point['undecided']} streams stayed undecided" if point["undecided"] else ""
    return "; ".join(filter(None, (note, undecided)))


@cache
def expected_capacity(family: str, d: int, answers: int | None, decoupled: bool) -> float:
    """The mean capacity of a stream: the sum over n of the probability that its first n facts are storable.

    Where that probability is not known, the capacity itself, at which it is one half.
    """

    def storable(n: int) -> float | None:
        competitors = n if answers is None else answers
        if competitors < 2:
            return 1.0
        memories = memories_seen(family, d, answers=competitors, decoupled=decoupled)
        return probability_facts_storable(n, competitors, memories=memories)

    capacity = facts_capacity(family, d, answers=answers, decoupled=decoupled)
    if storable(max(2, round(capacity))) is None:
        return capacity
    first = max(1, round(capacity))
    while first > 1 and (storable(first) or 0) < 1 - _NEGLIGIBLE:
        first -= 1
    total, n = float(first), first + 1
    while (probability := storable(n) or 0) > _NEGLIGIBLE:
        total, n = total + probability, n + 1
    return total


def compare_proved_facts(points: list[dict]) -> list[Comparison]:
    """Mean proved capacities (`proved_facts`) compared with the law."""
    comparisons = []
    for point in points:
        if point["streams"] < FEWEST:
            continue
        answers = "one for each fact" if point["answers"] is None else point["answers"]
        kind = "" if point["frequencies"] == "uniform" else f", {point['frequencies']} targets"
        what = (
            f"mean of the proved capacity, {point['problem']}, d = {point['d']}, {point['family']} memories, answers: "
            f"{answers}{kind} ({point['streams']} streams)"
        )
        note = note_on(point, SHARED_OUTPUTS if point["problem"] == "original" else "")
        # Memories of every family, and every number of answers, are tried on the same inputs.
        family, streams = f"mean of the proved capacity, {point['problem']}{kind}", f"d = {point['d']}"
        numbers = point["predicted"], point["facts"], point["error"]
        comparisons.append(Comparison(what, *numbers, point["streams"] - 1, note, family, streams))
    return comparisons
