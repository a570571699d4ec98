"""The verdicts of a figure in sentences: every statement about agreement is made here, from the numbers."""

from __future__ import annotations

from loadstone.studies.kit.bounds import BoundComparison
from loadstone.studies.kit.comparison import Comparison, Judgement, short_number, with_error
from loadstone.studies.kit.multiple_tests import FamilyTest, family_tests


def findings(comparisons: list[Comparison]) -> list[str]:
    """One sentence for each kind of number, in the order in which the kinds appear."""
    tests = {one.family: one for one in family_tests(comparisons)}
    kinds: dict[str, list[Comparison]] = {}
    for one in comparisons:
        kinds.setdefault(one.family or one.what, []).append(one)
    sentences = []
    for kind, of_kind in kinds.items():
        bounds = [one for one in of_kind if isinstance(one, BoundComparison)]
        outcome = _inequalities(bounds) if bounds else _verdicts(of_kind, tests.get(kind))
        sentences.append(f"{kind}: {outcome}.")
    return sentences


def _inequalities(bounds: list[BoundComparison]) -> str:
    """A single inequality in its own words; of several, how many hold, and the numbers of the one nearest to its bound,
    or furthest on the wrong side of it."""
    if len(bounds) == 1:
        return bounds[0].in_words()
    words = []
    for verdict, name in _HOLDING.items():
        if alike := [one for one in bounds if one.verdict == verdict]:
            nearest = min(alike, key=lambda one: one.excess / one.error)
            words.append(f"{name} {len(alike)} of {len(bounds)} (nearest to its bound: {nearest.in_words()})")
    return ", ".join(words)


_HOLDING = {Judgement.AGREES: "holds for", Judgement.DIFFERS: "does not hold for", Judgement.CANNOT_TELL: "open for"}


def _verdicts(comparisons: list[Comparison], as_one: FamilyTest | None) -> str:
    """How many agree, differ or cannot tell, and by how much."""
    words = []
    of = {verdict: [one for one in comparisons if one.verdict == verdict] for verdict in Judgement}
    if agreeing := of[Judgement.AGREES]:
        words.append(f"{_count(agreeing, 'agrees', 'agree')} within {_range([one.within for one in agreeing])} %")
    if differing := of[Judgement.DIFFERS]:
        furthest = max(differing, key=lambda one: abs(one.difference) / (one.percent or 1.0))
        most = "" if len(differing) == 1 else "up to "
        words.append(f"{_count(differing, 'differs', 'differ')} by {most}{furthest.difference_in_words()}")
    if unclear := of[Judgement.CANNOT_TELL]:
        seen = [one.min_detectable / one.percent for one in unclear if one.percent]
        limit = f" (less than {_range(seen)} % would not have been seen)" if seen else ""
        words.append(f"for {len(unclear)} the measurement cannot tell{limit}")
    if as_one is not None:
        words.append(_as_one(as_one))
    return ", ".join(words)


def _as_one(kind: FamilyTest) -> str:
    many, side = kind.most
    shift, outcome = with_error(kind.shift, kind.shift_error), "a" if kind.systematic else "no"
    return (
        f"{many} of {kind.comparisons} lie {side} the prediction, on average {shift} %, which chance gives with "
        f"probability {kind.p_value:.1g}: {outcome} systematic difference"
    )


def _count(comparisons: list[Comparison], one: str, several: str) -> str:
    return f"{len(comparisons)} {one if len(comparisons) == 1 else several}"


def _range(numbers: list[float]) -> str:
    least, most = short_number(min(numbers)), short_number(max(numbers))
    return least if least == most else f"{least} to {most}"
