"""Whether chains have mixed: R-hat, effective sample size, autocorrelation time.

As in Vehtari, Gelman, Simpson, Carpenter and Buerkner (Bayesian Analysis, 2021): each chain is split into halves, and
the numbers are replaced by normal scores of their ranks, so that heavy tails do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from loadstone.readable import readable

#: Chains have mixed if no R-hat is larger.
MIXED = 1.05


@dataclass(frozen=True)
class Mixing:
    """How well chains have mixed, for the slowest of the numbers that were watched.

    r_hat: how much wider all chains together are than each alone; 1 if they have forgotten where they began.
    effective_samples: how many independent samples would give the mean as precisely.
    autocorrelation_time: how many steps a chain takes to forget where it was.
    """

    r_hat: float
    effective_samples: float
    autocorrelation_time: float

    __repr__ = readable

    @property
    def mixed(self) -> bool:
        return bool(self.r_hat <= MIXED)


def mixing(traces: Float[np.ndarray, "chains times numbers"], stride: int = 1) -> Mixing:
    """The worst R-hat and the fewest effective samples of several numbers, each watched every `stride` steps."""
    each = [(r_hat(trace), effective_samples(trace)) for trace in np.moveaxis(traces, 2, 0)]
    effective = min(effective for _, effective in each)
    samples = traces.shape[0] * traces.shape[1]
    return Mixing(max(hat for hat, _ in each), effective, stride * samples / effective)


def r_hat(trace: Float[np.ndarray, "chains times"]) -> float:
    """Rank-normalised split R-hat; also for the distances from the median, so that chains of different widths are
    told apart. Infinite if chains stay where they are."""
    folded = np.abs(trace - np.median(trace))
    return max(_split_r_hat(_normal_scores(_halves(one))) for one in (trace, folded))


def effective_samples(trace: Float[np.ndarray, "chains times"]) -> float:
    """Effective sample size of the rank-normalised numbers, by Geyer's initial monotone sequence."""
    halves = _normal_scores(_halves(trace))
    chains, times = halves.shape
    within, total = _variances(halves)
    if not total > 0:
        return 1.0
    correlation = 1 - (within - _autocovariances(halves).mean(axis=0) * times / (times - 1)) / total
    pairs = correlation[: times // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0)
    kept = np.minimum.accumulate(pairs[: negative[0] if len(negative) else len(pairs)])
    time = max(2 * kept.sum() - 1, 1 / np.log10(chains * times))
    return float(chains * times / time)


def _halves(trace: Float[np.ndarray, "chains times"]) -> Float[np.ndarray, "halves half"]:
    half = trace.shape[1] // 2
    return np.concatenate([trace[:, :half], trace[:, -half:]])


def _normal_scores(trace: Float[np.ndarray, "chains times"]) -> Float[np.ndarray, "chains times"]:
    from scipy.stats import rankdata  # takes half a second to import

    ranks = rankdata(trace, axis=None).reshape(trace.shape)
    return ndtri((ranks - 0.375) / (trace.size + 0.25))


def _variances(trace: Float[np.ndarray, "chains times"]) -> tuple[float, float]:
    """The mean variance within chains, and the estimate of the variance over all of them."""
    times = trace.shape[1]
    within = float(trace.var(axis=1, ddof=1).mean())
    return within, within * (times - 1) / times + float(trace.mean(axis=1).var(ddof=1))


def _split_r_hat(trace: Float[np.ndarray, "chains times"]) -> float:
    within, total = _variances(trace)
    return float(np.sqrt(total / within)) if within > 0 else np.inf


def _autocovariances(trace: Float[np.ndarray, "chains times"]) -> Float[np.ndarray, "chains times"]:
    times = trace.shape[1]
    centred = trace - trace.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, 2 * times)) ** 2
    return np.fft.irfft(power)[:, :times] / times
