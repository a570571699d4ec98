"""The number of associations of a problem, given directly or through the load."""

from __future__ import annotations

from loadstone.arguments import positive, refuse, whole
from loadstone.theory.load import nearest_associations

#: The largest p that a spec allows.
MOST_DIMENSION, MOST_ASSOCIATIONS = 2**24, 2**31 - 1


def associations_from(p: int | None, load: float | None, d: int) -> int:
    """p itself, or the p whose load is nearest to `load`; exactly one of the two must be given."""
    d = whole("d", d, 1, MOST_DIMENSION)
    if (p is None) == (load is None):
        raise ValueError("The problem needs a size: give either --load or --p, and not both.")
    if p is not None:
        return whole("p", p, 2, MOST_ASSOCIATIONS)
    nearest = nearest_associations(positive("load", load), d)
    if not 2 <= nearest <= MOST_ASSOCIATIONS:
        allowed = f"such that p is at least 2 and at most {MOST_ASSOCIATIONS}: it gives p = {nearest} at d = {d}"
        raise refuse("load", load, allowed)
    return nearest
