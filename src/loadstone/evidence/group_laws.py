"""How the excess falls with the number of groups: laws fitted to all dimensions at once, the excess of the original
problem fitted for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from loadstone.evidence.shift import Fit

#: What is left of the excess with g groups of p inputs. Of all pairs of inputs, (p/g - 1) / (p - 1) share outputs.
GROUP_LAWS: dict[str, Callable[[float, float], float]] = {
    "the share of pairs that share outputs": lambda g, p: (p / g - 1) / (p - 1),
    "g^-1/2": lambda g, p: g**-0.5,
    "g^-2": lambda g, p: g**-2.0,
}


@dataclass(frozen=True)
class GroupFit:
    """A law for what is left of the excess, with the excess of one group fitted for each dimension."""

    law: str
    excess: dict[int, float]
    chi_square: float
    #: Points less dimensions.
    freedom: int

    @property
    def deviations(self) -> float:
        """How many standard deviations of a normal number are as unlikely as a chi-square beyond this one."""
        return Fit(self.law, 0, 0, 0, self.chi_square, self.freedom).deviations


def fitted_group_laws(points: list[dict]) -> list[GroupFit]:
    """Each law fitted to the points of `group_points`, if there are more of them than dimensions."""
    dimensions = sorted({point["d"] for point in points})
    if len(points) <= len(dimensions):
        return []
    return [_fitted(law, points, dimensions) for law in GROUP_LAWS]


def _fitted(law: str, points: list[dict], dimensions: list[int]) -> GroupFit:
    excess, chi_square = {}, 0.0
    for d in dimensions:
        found = [point for point in points if point["d"] == d]
        y, error = (np.array([point[name] for point in found]) for name in ("excess", "error"))
        shape = np.array([left(law, point["groups"], point["predicted"]) for point in found]) / error
        excess[d] = float(shape @ (y / error) / (shape @ shape))
        chi_square += float(((y / error - excess[d] * shape) ** 2).sum())
    return GroupFit(law, excess, chi_square, len(points) - len(dimensions))


def left(law: str, groups: float | None, p: float) -> float:
    """What a law says is left of the excess of p inputs; None stands for as many groups as inputs."""
    return GROUP_LAWS[law](p if groups is None else groups, p)
