"""The memories that store a stream, sampled: their overlap and volume, and three of them that represent all.

These three are a typical one (the last of a chain), the centre of all, and the one of largest margin. The record has
their singular values, their least margins, and what they recall with rounded entries and from noisy inputs; it has the
scores of typical ones if asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from loadstone.arguments import refuse, set_as, whole
from loadstone.measurements.noise import measured_noisy_accuracy
from loadstone.measurements.spectrum import matrix_singular_values
from loadstone.memories.full import Full
from loadstone.memories.memory import Memory
from loadstone.memories.rounding import rounded_to_bits
from loadstone.problems.arrays import Arrays
from loadstone.problems.budget import Budget
from loadstone.problems.kinds import ORIGINAL
from loadstone.problems.numpy_pass import ExactPass
from loadstone.proofs.verdict import Outcome
from loadstone.solvers.margin import NoMarginError, maximum_margin
from loadstone.space.sample import STEPS, sample
from loadstone.space.starts import NotStorableError
from loadstone.tasks.checked_spec import CheckedSpec
from loadstone.tasks.fields import FIELDS
from loadstone.tasks.margin import DRAWS, NOISES, margins
from loadstone.tasks.task import OneAtATime, numbers, require_linear

#: Bits to which the entries of a memory are rounded; with one bit only their signs are left.
BITS = (8, 4, 2, 1)
#: Relative accuracy of the largest margin.
_TOLERANCE = 1e-4
#: Edges of the histograms of scores; scores beyond them fall into the outermost bins.
_EDGES = np.linspace(-6, 6, 121)


@dataclass(frozen=True)
class Space:
    """How the memories are sampled.

    chains: how many chains, each from a memory that was found from a random start.
    steps: how many steps each chain has.
    volume: whether to estimate the volume of the memories.
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
    """The fields of a record. If the chains have not mixed, the status says so, and there are no averages."""
    try:
        sampled = sample(arrays, how.chains, steps=how.steps, seed=seed, family=family, with_volume=how.volume)
    except NotStorableError as error:
        return {"status": error.outcome.value}
    mixing = sampled.mixing
    # Chains that never move have an infinite R-hat, which JSON cannot hold.
    result: dict[str, object] = {"r_hat": min(mixing.r_hat, 1e9), "effective_samples": mixing.effective_samples}
    result |= {"autocorrelation_time": mixing.autocorrelation_time, "steps": sampled.steps, "passes": sampled.passes}
    if sampled.overlap is None:
        return {"status": "not mixed"} | result
    result |= {"overlap": sampled.overlap.value, "overlap_error": sampled.overlap.error, "dimension": sampled.dimension}
    if sampled.volume is not None:
        result |= {"log_volume": sampled.volume.log.value, "log_volume_error": sampled.volume.log.error}
    if family == "full":
        assert sampled.typical is not None and sampled.centre is not None
        typical, centre = [_matrix(memory) for memory in sampled.typical], _matrix(sampled.centre)
        result["typical_singular_values"] = [matrix_singular_values(w, len(w)).tolist() for w in typical]
        # Its square exceeds the overlap by noise, which blurs the singular values of the centre.
        result["centre_length"] = float(np.linalg.norm(sampled.centre.matrix()))
        if how.scores:
            result["typical_scores"] = _scores(arrays, typical)
        memories = {"typical": typical[0], "centre": centre} | _of_largest_margin(arrays)
        result["memories"] = {name: _measured(arrays, weights, seed) for name, weights in memories.items()}
    return {"status": "sampled"} | result


def _matrix(memory: Memory) -> Float64[np.ndarray, "d d"]:
    return np.asarray(memory.matrix(), np.float64)


def _scores(arrays: Arrays, typical: list[Float64[np.ndarray, "d d"]]) -> dict[str, object]:
    """Histograms and moments of the scores of every chain's last memory, in units of the length of the query: of the
    targets, of the best rival of each, and of all rivals; and the moments of the margins."""
    rows, parts = np.arange(len(arrays.targets)), []
    for weights in typical:
        lengths = np.linalg.norm(arrays.inputs.astype(np.float64) @ weights.T, axis=1)
        scores = np.asarray(ExactPass(arrays).scores(weights)) / lengths[:, None]
        rivals = np.ones(scores.shape, bool)
        rivals[rows, arrays.targets] = False
        others = scores[rivals].reshape(len(rows), -1)
        parts.append((scores[rows, arrays.targets], others.max(axis=1), others.ravel()))
    target, rival, others = (np.concatenate(part) for part in zip(*parts))
    scores_of = {"target": target, "rival": rival, "others": others}
    histograms = {name: np.histogram(np.clip(scores, _EDGES[0], _EDGES[-1]), _EDGES)[0].tolist()
                  for name, scores in scores_of.items()}  # fmt: skip
    moments = {name: {"mean": float(scores.mean()), "deviation": float(scores.std())}
               for name, scores in (scores_of | {"margin": target - rival}).items()}  # fmt: skip
    return {"low": float(_EDGES[0]), "high": float(_EDGES[-1]), "moments": moments} | histograms


def _of_largest_margin(arrays: Arrays) -> dict[str, Float64[np.ndarray, "d d"]]:
    try:
        return {"largest margin": _matrix(maximum_margin(arrays, _TOLERANCE).memory)}
    except NoMarginError as error:
        assert error.outcome == Outcome.UNDECIDED  # it is storable, for it was sampled
        return {}


def _measured(arrays: Arrays, weights: Float64[np.ndarray, "d d"], seed: int) -> dict[str, object]:
    memory, unit = Full(weights), weights / np.linalg.norm(weights)
    rounded = [(margins(arrays, rounded_to_bits(unit, bits)) > 0).mean() for bits in BITS]
    noisy = [measured_noisy_accuracy(arrays, memory, noise=noise, draws=DRAWS, seed=seed)[0] for noise in NOISES]
    return {
        "singular_values": numbers(matrix_singular_values(unit, len(unit))),
        "margin": float(margins(arrays, unit).min()),
        "bits": list(BITS),
        "recalled_rounded": numbers(rounded),
        "noises": list(NOISES),
        "recalled": noisy,
    }


class Sampling(OneAtATime):
    """A sample of the memories that store p associations."""

    settings = Space
    fields = FIELDS["space"]

    def check(self, spec: CheckedSpec) -> None:
        require_linear(spec, "sampling, which needs a linear family")

    def cost(self, spec: CheckedSpec, platform: str) -> float:
        """The number of paths, times the reflections of each, times the seconds of a reflection for all chains."""
        p, how = spec.p, spec.settings
        filled = min(1.0, p / (0.88 * spec.d**1.55))  # roughly, as a share of what fits
        reflections = p * 2 ** (4 * filled)
        pairs = how.chains * p * p
        reflection = 1e-5 + 1.5e-9 * pairs if spec.problem == ORIGINAL else 4.5e-5 + 9e-11 * pairs * spec.d
        # The volume takes about twenty paths for each halving, and fewer reflections as associations are taken away.
        paths = how.steps + (0.35 * 20 * p * math.log2(2 * p) if how.volume else 0)
        return 0.5 + paths * reflections * reflection

    def result(self, spec: CheckedSpec, budget: Budget | None) -> dict[str, object]:
        # The seed of the chains is that of the stream, cut to 31 bits.
        return space_of(spec.instance.arrays(), spec.settings, spec.seed % 2**31, spec.family)


SPACE = Sampling()
