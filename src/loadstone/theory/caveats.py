"""Where a prediction for as many answers as facts is an approximation, a bound or a limit, in words."""

from __future__ import annotations

from loadstone.arguments import rank_of

#: Below this dimension exact linear programs of Gaussian instances were seen to differ from the kinematic formula.
SMALL = 8
_RANDOM = "Embeddings are random, with no special direction; at capacity half of all instances are storable."
_SHARED = (
    "The formulas are derived for separate outputs (decoupled). With shared outputs a few per cent more can be stored "
    "at small d, and less than 1 % more from d = 200 on; the probability of storing so many is then higher than this."
)
_SMALL = (
    f"Below d = {SMALL} the kinematic formula is an approximation for Gaussian embeddings: the probability is known to "
    "about 0.02."
)
_BOUND = (
    "Below full rank the capacity is the replica-symmetric value: an upper bound for separate outputs in the limit of "
    "large d, not proved to be reached."
)


def caveats(d: int, kappa: float, decoupled: bool) -> list[str]:
    """What to keep in mind about a capacity and a probability in dimension d at rank fraction kappa."""
    found = [_RANDOM]
    if not decoupled:
        found.append(_SHARED)
    if kappa == 1 and d < SMALL:
        found.append(_SMALL)
    if kappa < 1:
        found.append(_BOUND)
        rank = rank_of(kappa, d)
        if abs(rank / d - kappa) > 1e-9:
            found.append(
                f"A memory of this d has rank {rank}, which is kappa = {rank / d:.4g}; the numbers are for {kappa:g}."
            )
    return found
