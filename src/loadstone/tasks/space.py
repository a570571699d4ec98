"""The memories that store a stream, sampled: their overlap and volume, and three of them that stand for all.

These three are a typical one (the last of a chain), the centre of all, and the one of largest margin. Their singular
values are kept, their least margins, and what they recall with rounded entries and from noisy inputs. The scores of
typical ones are kept if asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from loadstone.arguments import refuse, set_as, whole
from loadstone.deadline import Deadline
from loadstone.measurements.noise import measured_noisy_accuracy
from loadstone.measurements.spectrum import matrix_singular_values
from loadstone.memories.full import Full
from loadstone.memories.rounding import rounded_to_bits
from loadstone.problems.arrays import Arrays
from loadstone.problems.budget import Budget
from loadstone.problems.kinds import ORIGINAL
from loadstone.problems.numpy_pass import ExactPass
from loadstone.proofs.verdict import Outcome
from loadstone.solvers.margin import NoMarginError, maximum_margin
from loadstone.space.sample import STEPS, Sampled, sample
from loadstone.space.starts import NotStorableError
from loadstone.tasks.fields import FIELDS
from loadstone.tasks.margin import DRAWS, NOISES
from loadstone.tasks.task import Asked, OneAtATime, Result, require_linear

#: Bits to which the entries of a memory are rounded; with one bit only their signs are left.
BITS = (8, 4, 2, 1)
#: How closely the largest margin is found.
_TOLERANCE = 1e-4
#: Edges of the histograms of scores; scores beyond them fall into the outermost bins.
_EDGES = np.linspace(-6, 6, 121)


@dataclass(frozen=True)
class Space:
    """How the memories are sampled.

    chains: how many, each from a memory that was found from a random start.
    steps: of each chain.
    volume: whether to find how many memories there are.
    scores: whether to keep the scores of typical memories.
    """

    chains: int = 4
    steps: int = STEPS["reflections"]
    volume: bool = True
    scores: bool = False

    def __post_init__(self) -> None:
        set_as(self, "chains", whole("chains", self.chains, 2, 4096))
        set_as(self, "steps", whole("steps", self.steps, 2, 10**9))
        for name in ("volume", "scores"):
            if not isinstance(getattr(self, name), bool):
                raise refuse(name, getattr(self, name), "True or False")


def space_of(arrays: Arrays, how: Space, seed: int, family: str = "full") -> dict[str, object]:
    """What a record holds. If chains have not mixed it says so, and holds no average."""
    try:
        found = sample(arrays, how.chains, steps=how.steps, seed=seed, family=family, with_volume=how.volume)
    except NotStorableError as error:
        return {"status": error.outcome.value}
    mixing = found.mixing
    result: dict[str, object] = {"r_hat": _held(mixing.r_hat), "effective_samples": mixing.effective_samples}
    result |= {"autocorrelation_time": mixing.autocorrelation_time, "steps": found.steps, "passes": found.passes}
    if found.overlap is None:
        return {"status": "not mixed"} | result
    result |= {"overlap": found.overlap.value, "overlap_error": found.overlap.error, "dimension": found.dimension}
    if found.volume is not None:
        result |= {"log_volume": found.volume.log.value, "log_volume_error": found.volume.log.error}
    if family == "full":
        result |= _directions(found)
        if how.scores:
            result["typical_scores"] = _scores(arrays, found)
        result["memories"] = {name: _seen(arrays, memory, seed) for name, memory in _three(arrays, found).items()}
    return {"status": "sampled"} | result


def _held(number: float) -> float:
    """Chains that never move have an infinite R-hat, which JSON cannot hold."""
    return min(number, 1e9)


def _directions(found: Sampled) -> dict[str, object]:
    """Singular values of the last memory of every chain, and the length of the mean of all sampled directions: what its
    square exceeds the overlap by is noise, which blurs the singular values of the centre."""
    assert found.typical is not None and found.centre is not None
    matrices = [np.asarray(memory.matrix(), np.float64) for memory in found.typical]
    values = [matrix_singular_values(matrix, len(matrix)).tolist() for matrix in matrices]
    return {"typical_singular_values": values, "centre_length": float(np.linalg.norm(found.centre.matrix()))}


def _scores(arrays: Arrays, found: Sampled) -> dict[str, object]:
    """Scores of the last memory of every chain, each in units of the length of its query: of the targets, of the best
    rival of each, and of all rivals as a histogram; and by how much targets exceed their best rivals."""
    assert found.typical is not None
    rows, parts = np.arange(len(arrays.targets)), []
    for memory in found.typical:
        weights = np.asarray(memory.matrix(), np.float64)
        lengths = np.linalg.norm(arrays.inputs.astype(np.float64) @ weights.T, axis=1)
        scores = np.asarray(ExactPass(arrays).scores(weights)) / lengths[:, None]
        rivals = np.ones(scores.shape, bool)
        rivals[rows, arrays.targets] = False
        others = scores[rivals].reshape(len(rows), -1)
        parts.append((scores[rows, arrays.targets], others.max(axis=1), others.ravel()))
    target, rival, others = (np.concatenate(part) for part in zip(*parts))
    histograms = {name: np.histogram(np.clip(one, _EDGES[0], _EDGES[-1]), _EDGES)[0].tolist()
                  for name, one in (("target", target), ("rival", rival), ("others", others))}  # fmt: skip
    named = (("target", target), ("rival", rival), ("margin", target - rival), ("others", others))
    moments = {name: {"mean": float(one.mean()), "deviation": float(one.std())} for name, one in named}
    return {"low": float(_EDGES[0]), "high": float(_EDGES[-1]), "moments": moments} | histograms


def _three(arrays: Arrays, found: Sampled) -> dict[str, Full]:
    assert found.typical is not None and found.centre is not None
    named = {"typical": found.typical[0], "centre": found.centre}
    memories = {name: Full(np.asarray(memory.matrix(), np.float64)) for name, memory in named.items()}
    try:
        return memories | {"largest margin": maximum_margin(arrays, _TOLERANCE).memory}
    except NoMarginError as error:
        assert error.outcome == Outcome.UNDECIDED  # it is storable, for it was sampled
        return memories


def _seen(arrays: Arrays, memory: Full, seed: int) -> dict[str, object]:
    weights = np.asarray(memory.weights) / np.linalg.norm(memory.weights)
    rounded = [(_margins(arrays, rounded_to_bits(weights, bits)) > 0).mean() for bits in BITS]
    noisy = [measured_noisy_accuracy(arrays, memory, noise=noise, draws=DRAWS, seed=seed)[0] for noise in NOISES]
    return {
        "singular_values": [float(value) for value in matrix_singular_values(weights, len(weights))],
        "margin": float(_margins(arrays, weights).min()),
        "bits": list(BITS),
        "recalled_rounded": [float(share) for share in rounded],
        "noises": list(NOISES),
        "recalled": noisy,
    }


def _margins(arrays: Arrays, weights: np.ndarray) -> np.ndarray:
    exact = ExactPass(arrays)
    return np.asarray(exact.margins(exact.scores(weights)))


class Sampling(OneAtATime):
    """The memories that store p associations, sampled."""

    settings = Space
    fields = FIELDS["space"]

    def check(self, asked: Asked) -> None:
        require_linear(asked, "sampling, which needs a linear family")

    def cost(self, asked: Asked, platform: str) -> float:
        """Paths, times reflections of each, times what one takes for all chains."""
        p, how = asked.p, asked.settings
        filled = min(1.0, p / (0.88 * asked.d**1.55))  # roughly, as a share of what fits
        reflections = p * 2 ** (4 * filled)
        pairs = how.chains * p * p
        one = 1e-5 + 1.5e-9 * pairs if asked.problem == ORIGINAL else 4.5e-5 + 9e-11 * pairs * asked.d
        # The volume takes about twenty paths for each halving, and fewer reflections as associations are taken away.
        paths = how.steps + (0.35 * 20 * p * math.log2(2 * p) if how.volume else 0)
        return 0.5 + paths * reflections * one

    def result(self, asked: Asked, budget: Budget | None) -> Result:
        clock = Deadline()
        # Chains have the seed of the stream, which is below 2^64: theirs have 31 bits.
        fields = space_of(asked.instance.arrays(), asked.settings, asked.seed % 2**31, asked.family)
        return Result(fields, clock.taken)


SPACE = Sampling()
