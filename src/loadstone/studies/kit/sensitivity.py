"""What would be said if theory were wrong by a few per cent: every prediction is shifted, and judged again.

An agreement that survives a shift of 3 % is worth no more than 3 %. This counts them, so that nobody has to take the
word 'agrees' on trust.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from loadstone.studies.kit.bounds import BoundComparison
from loadstone.studies.kit.comparison import MATTERS, Comparison, Judgement
from loadstone.studies.kit.counts import CountComparison
from loadstone.studies.kit.multiple_tests import corrected, together

SHIFT = 0.03


def shifted(comparisons: Sequence[Comparison], share: float = SHIFT) -> list[Comparison]:
    """The same measurements beside predictions that are larger by this share of what 100 % is, judged again."""
    return corrected([replace(one, predicted=_wrong(one, share)) for one in comparisons])


def _wrong(one: Comparison, share: float) -> float:
    wrong = one.predicted + 100 * share * one.percent
    # A predicted share of cases stays between none and all of them.
    return min(1.0, max(0.0, wrong)) if isinstance(one, CountComparison) else wrong


def changed_verdicts(comparisons: Sequence[Comparison], share: float = SHIFT) -> Counter[tuple[Judgement, Judgement]]:
    """How many numbers went from which verdict to which."""
    return Counter((one.verdict, other.verdict) for one, other in zip(comparisons, shifted(comparisons, share)))


def in_words(comparisons: Sequence[Comparison], share: float = SHIFT) -> list[str]:
    """What a shift of all predictions, up and down, would have changed, in sentences; bounds predict no number."""
    words, comparisons = [], [one for one in comparisons if not isinstance(one, BoundComparison)]
    for sign in (1, -1):
        count = changed_verdicts(comparisons, sign * share)
        agreed = sum(number for (before, _), number in count.items() if before == Judgement.AGREES)
        if not agreed:
            continue
        differ, unclear, kept = (count[Judgement.AGREES, one] for one in _AFTER)
        before = sum(one.systematic for one in together(list(comparisons)))
        after = sum(one.systematic for one in together(shifted(comparisons, sign * share)))
        words.append(
            f"If every prediction were {100 * share:g} % {'higher' if sign > 0 else 'lower'}, {differ} of the {agreed} "
            f"numbers that agree would differ, for {unclear} the measurement could not tell, and {kept} would still "
            f"agree within {100 * MATTERS:g} %; {after} kinds instead of {before} would differ as a whole."
        )
    return words


_AFTER = (Judgement.DIFFERS, Judgement.CANNOT_TELL, Judgement.AGREES)
