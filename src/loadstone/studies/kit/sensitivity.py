"""How the verdicts would change if theory were wrong by a few per cent: every prediction is shifted, and judged again.

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
from loadstone.studies.kit.multiple_tests import corrected, family_tests

SHIFT = 0.03


def shifted(comparisons: Sequence[Comparison], share: float) -> list[Comparison]:
    """The same measurements, compared with predictions that are larger by this share of what 100 % is."""
    return corrected([replace(one, predicted=_wrong(one, share)) for one in comparisons])


def _wrong(comparison: Comparison, share: float) -> float:
    wrong = comparison.predicted + 100 * share * comparison.percent
    # A predicted share of cases stays between none and all of them.
    return min(1.0, max(0.0, wrong)) if isinstance(comparison, CountComparison) else wrong


def in_words(comparisons: Sequence[Comparison]) -> list[str]:
    """What a shift of all predictions, up and down, would have changed, in sentences; bounds predict no number."""
    words, comparisons = [], [one for one in comparisons if not isinstance(one, BoundComparison)]
    before = sum(one.systematic for one in family_tests(comparisons))
    for share, where in ((SHIFT, "higher"), (-SHIFT, "lower")):
        wrong = shifted(comparisons, share)
        now = Counter(new.verdict for old, new in zip(comparisons, wrong) if old.verdict == Judgement.AGREES)
        if now:
            after = sum(one.systematic for one in family_tests(wrong))
            words.append(
                f"If every prediction were {100 * SHIFT:g} % {where}, {now[Judgement.DIFFERS]} of the {now.total()} "
                f"numbers that agree would differ, for {now[Judgement.CANNOT_TELL]} the measurement could not tell, "
                f"and {now[Judgement.AGREES]} would still agree within {100 * MATTERS:g} %; "
                f"{after} kinds instead of {before} would differ as a whole."
            )
    return words
