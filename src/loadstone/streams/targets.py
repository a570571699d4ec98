"""Which answer is the target of each fact: drawn with given frequencies from the counters of a stream.

The target of fact n depends on the stream, on n and on the frequencies only. It is made on the host from whole numbers
and IEEE arithmetic, so that every device has the same targets.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int32, UInt64

from loadstone.frequencies import Frequencies
from loadstone.streams.counters import host_words

#: Shares are rounded to this grid, so that the last digit of a power does not decide about a target.
_GRID = 2.0**40


def draw_targets(seed: int, d: int, n: int, answers: int, frequencies: Frequencies) -> Int32[np.ndarray, "n"]:
    """The targets of the first n facts of a stream, as indices of answers."""
    if frequencies == "balanced":
        blocks = -(-n // answers)
        words = _words(seed, d, blocks * answers).reshape(blocks, answers)
        return np.argsort(words, axis=1, kind="stable").ravel()[:n].astype(np.int32)
    return chosen(_words(seed, d, n), answers, frequencies)


def chosen(words: UInt64[np.ndarray, "n"], answers: int, frequencies: Frequencies) -> Int32[np.ndarray, "n"]:
    """The answer that each random word stands for."""
    uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    if frequencies == "uniform":
        targets = np.minimum(np.floor(uniform * answers), answers - 1)
    else:
        # The first answer whose cumulative share lies above the number: one with no share is never drawn.
        targets = np.searchsorted(_cumulative(frequencies, answers)[:-1], uniform, side="right")
    return targets.astype(np.int32)


def _cumulative(frequencies: Frequencies, answers: int) -> Float64[np.ndarray, "m"]:
    if isinstance(frequencies, str):
        weights = np.arange(1, answers + 1, dtype=np.float64) ** -float(frequencies.partition(":")[2])
    else:
        weights = np.asarray(frequencies, np.float64) / max(frequencies)
    rising = np.cumsum(weights)
    return np.rint(rising / rising[-1] * _GRID) / _GRID


def _words(seed: int, d: int, count: int) -> UInt64[np.ndarray, "count"]:
    """A 64-bit word for each fact."""
    high, low = host_words(seed, "targets", d, np.arange(count, dtype=np.uint32))
    return (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
