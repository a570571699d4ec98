"""The sweep of optimisers: how many passes each takes, close below the capacity."""

from __future__ import annotations

from loadstone.runs.spec import Spec
from loadstone.studies.kit.runs import share_of_capacity

#: Constant rates, those of defaults included, are the best of a few, a factor of 2 or 3 apart, on streams 100 to 103 of
#: d = 30 at 3 % below their capacity. Adam's is the usual one; 0.3 would be faster.
_OPTIMISERS = ("sgd:1.5", "minibatch", "perceptron", "paper", "adam:0.1", "normalised", "muon:0.1", "lbfgs", "newton")
_ON_POWER_LAWS = ("adam:0.1", "lbfgs:whiten=False", "lbfgs")


def optimisers(scale: str) -> list[Spec]:
    """How many passes each optimiser takes to store streams close below their proved capacity; and three of them on
    streams of the same capacity whose embeddings have variances that fall as a power law."""
    passes = {"quick": 1000, "paper": 10_000}[scale]
    streams = {"quick": {20: 3}, "paper": {30: 12, 50: 4, 100: 2}}[scale]
    exponents = {"quick": (1,), "paper": (0.5, 1, 1.5)}[scale]
    least = min(streams)
    tried = [(d, "gaussian", optimiser) for d in streams for optimiser in _OPTIMISERS]
    tried += [(least, f"power law:{exponent}", one) for exponent in exponents for one in _ON_POWER_LAWS]
    return [
        Spec("original", d, share_of_capacity(1, d), seed, law=law, solver="approach", parameters=parameters)
        for d, law, optimiser in tried
        for parameters in [{"optimiser": optimiser, "passes": passes}]
        for seed in range(streams[d])
    ]
