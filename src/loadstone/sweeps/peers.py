"""The sweep of an experiment of others: Nichani, Lee and Bietti, 'Understanding factual recall in transformers via
associative memories' (2024), on linear memories.

Their inputs and outputs are unit vectors, the loss is the cross-entropy, and AdamW without weight decay, which is Adam,
takes at most 4096 steps at a rate of 1000. The largest N that is recalled with an accuracy of 99 % is found by
bisection to 1 %, for d from 8 to 256 and five seeds. Here vectors have length sqrt(d), as everywhere in this package:
scores are d times as large, so W need only be 1/d of theirs, and Adam, whose steps do not depend on the size of the
gradient, takes the same path at a rate of 1000 / d. Two things differ: the first N associations of one stream are
taken for every N, where theirs are drawn again, and accuracy is measured after every step, where theirs is after every
32nd.
"""

from __future__ import annotations

from loadstone.runs.spec import Spec
from loadstone.studies.kit.runs import share_of_capacity

_DIMENSIONS = {"quick": (8, 16, 32), "paper": (8, 16, 32, 64, 128, 256)}
_SEEDS = {"quick": 3, "paper": 5}
_RATE, _STEPS = 1000.0, 4096
#: How closely the largest N is found; theirs is found to 1 %.
_WIDTH = {"quick": 0.03, "paper": 0.01}
#: Where the bisection begins, as a share of the predicted capacity.
_GUESS = 0.96
#: Streams of each dimension whose capacity is proved, with outputs of equal length and with Gaussian ones.
_PROVED = {"quick": {8: 10}, "paper": {8: 200, 16: 100, 32: 40}}


def peers(scale: str) -> list[Spec]:
    """Their protocol; and exact capacities of the same associations, with outputs of equal and of random length."""
    protocol = [
        Spec("original", d, share_of_capacity(_GUESS, d), seed, law="sphere", solver="reach", parameters=parameters)
        for d in _DIMENSIONS[scale]
        for parameters in [_protocol(d) | {"width": _WIDTH[scale]}]
        for seed in range(_SEEDS[scale])
    ]
    return protocol + [
        Spec("original", d, share_of_capacity(1, d), seed, law=law, solver="capacity")
        for law in ("sphere", "gaussian")
        for d, streams in _PROVED[scale].items()
        for seed in range(streams)
    ]


def _protocol(d: int) -> dict[str, object]:
    return {
        "optimiser": f"adam:{_RATE / d}",
        # The memory is measured before each step and after the last.
        "passes": _STEPS + 1,
        "enough": "99%",
        "digits": "float32",
    }
