"""Recall from noisy inputs: how often e + sigma xi still recalls the target of e, predicted and measured.

The noise adds sigma (u_target - u_rho) . W xi to each margin, a normal number of variance
sigma^2 |W^T (u_target - u_rho)|^2. So a memory of large margin bears much noise. The target is recalled if xi, which is
normal in d dimensions, stays on the right side of one plane for each rival. The prediction takes one rival after the
other, the most dangerous first. The probability to beat the next one is Phi(mean / deviation) of its margin; this
condition changes mean and covariance of xi, which is then taken as normal again. Two bounds that always hold are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64
from scipy.special import log_ndtr, ndtr

from loadstone.arguments import positive, refuse, whole
from loadstone.measurements.spectrum import memory_matrix
from loadstone.memories.memory import Memory
from loadstone.problems.arrays import Arrays, HasArrays, arrays_of
from loadstone.problems.numpy_pass import ExactPass
from loadstone.readable import readable


@dataclass(frozen=True)
class NoisyAccuracy:
    """Share of recalls from noisy inputs that find the target.

    predicted: as above.
    at_least: no memory with these margins does worse: 1 minus the sum over rivals of the probability to lose to each.
    at_most: the most dangerous rival alone.
    """

    predicted: float
    at_least: float
    at_most: float

    __repr__ = readable


def predicted_noisy_accuracy(instance: HasArrays, memory: Memory, *, noise: float) -> NoisyAccuracy:
    """The accuracy of recall from e + noise xi, xi ~ N(0, I_d), predicted from the margins and the memory's matrix.

    Example:
        >>> from loadstone.measurements.noise import predicted_noisy_accuracy
        >>> instance = loadstone.Instance(loadstone.Stream(0, 4), 4)
        >>> result = predicted_noisy_accuracy(instance, loadstone.maximum_margin(instance).memory, noise=0.1)
        >>> 0.9 < result.predicted < 1
        True
    """
    arrays, noise = arrays_of(instance), positive("noise", noise)
    planes, margins = _planes(arrays, _matrix(arrays, memory), noise)
    safety = margins / np.maximum(np.linalg.norm(planes, axis=2), 1e-150)
    least = np.maximum(0, 1 - ndtr(-safety).sum(axis=1))
    return NoisyAccuracy(
        float(_probability(planes, margins).mean()), float(least.mean()), float(ndtr(safety[:, 0]).mean())
    )


def measured_noisy_accuracy(
    instance: HasArrays, memory: Memory, *, noise: float, draws: int = 100, seed: int = 0
) -> tuple[float, float]:
    """The accuracy of recall from e + noise xi over this many draws of the noise for each input, and its error.

    Example:
        >>> from loadstone.measurements.noise import measured_noisy_accuracy
        >>> instance = loadstone.Instance(loadstone.Stream(0, 4), 4)
        >>> accuracy, error = measured_noisy_accuracy(instance, loadstone.maximum_margin(instance).memory, noise=0.1)
        >>> 0.9 < accuracy <= 1
        True
    """
    noise, draws = positive("noise", noise), whole("draws", draws, 2, 10**9)
    arrays = arrays_of(instance)
    weights = _matrix(arrays, memory)
    random = np.random.default_rng(whole("seed", seed, 0))
    inputs, outputs, targets = arrays.inputs.astype(np.float64), arrays.outputs.astype(np.float64), arrays.targets
    accuracy = np.empty(draws)
    for draw in range(draws):
        queries = (inputs + noise * random.standard_normal(inputs.shape)) @ weights.T
        scores = (outputs @ queries[:, :, None])[:, :, 0] if arrays.decoupled else queries @ outputs.T
        accuracy[draw] = (scores.argmax(axis=1) == targets).mean()
    return float(accuracy.mean()), float(accuracy.std(ddof=1) / np.sqrt(draws))


def _planes(
    arrays: Arrays, weights: Float64[np.ndarray, "d d"], noise: float
) -> tuple[Float64[np.ndarray, "n r d"], Float64[np.ndarray, "n r"]]:
    """Planes and margins of all rivals, the most dangerous first: under noise a margin is margin + plane . xi."""
    scores, targets = np.asarray(ExactPass(arrays).scores(weights)), arrays.targets
    mapped = noise * (arrays.outputs.astype(np.float64) @ weights)
    n, m = scores.shape
    rivals = np.arange(m - 1) + (np.arange(m - 1) >= targets[:, None])
    rows = np.arange(n)[:, None]
    map_of = (lambda index: mapped[rows, index]) if arrays.decoupled else (lambda index: mapped[index])
    planes, margins = map_of(targets[:, None]) - map_of(rivals), scores[rows, targets[:, None]] - scores[rows, rivals]
    order = np.argsort(margins / np.maximum(np.linalg.norm(planes, axis=2), 1e-150), axis=1)
    return planes[rows, order], margins[rows, order]


def _probability(planes: Float64[np.ndarray, "n r d"], margins: Float64[np.ndarray, "n r"]) -> Float64[np.ndarray, "n"]:
    """The probability that every margin stays positive, rival by rival."""
    n, rivals, d = planes.shape
    mean, covariance, log_probability = np.zeros((n, d)), np.tile(np.eye(d), (n, 1, 1)), np.zeros(n)
    for rival in range(rivals):
        plane = planes[:, rival]
        along = (covariance @ plane[:, :, None])[:, :, 0]
        deviation = np.sqrt(np.maximum((plane * along).sum(axis=1), 1e-300))
        safety = (margins[:, rival] + (plane * mean).sum(axis=1)) / deviation
        log_probability += log_ndtr(safety)
        # The mean of a normal number above -safety, and by how much its variance is below 1.
        shift = np.exp(-(safety**2) / 2 - log_ndtr(safety)) / np.sqrt(2 * np.pi)
        along /= deviation[:, None]
        mean += shift[:, None] * along
        covariance -= (shift * (safety + shift))[:, None, None] * along[:, :, None] * along[:, None, :]
    return np.exp(log_probability)


def _matrix(arrays: Arrays, memory: Memory) -> Float[np.ndarray, "d d"]:
    weights = memory_matrix(memory)
    if weights.shape[0] != arrays.inputs.shape[1]:
        raise refuse("memory", f"of d = {weights.shape[0]}", f"one of d = {arrays.inputs.shape[1]}, as the instance")
    return weights
