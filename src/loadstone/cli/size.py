"""The number of associations, given outright or through the load."""

from __future__ import annotations

from loadstone.arguments import positive, whole
from loadstone.theory.load import nearest_associations


def associations_from(p: int | None, load: float | None, d: int) -> int:
    """p itself, or the p whose load is nearest to `load`; exactly one of the two must be given."""
    d = whole("d", d, 1)
    if (p is None) == (load is None):
        raise ValueError("The size of the problem is not settled: give either --load or --p, and not both.")
    if p is not None:
        return whole("p", p, 2)
    nearest = nearest_associations(positive("load", load), d)
    if nearest < 2:
        raise ValueError(f"load is {load}, which gives p = {nearest} at d = {d}, but p must be at least 2: raise it.")
    return nearest
