"""The largest margin of an instance, and how well the memory that has it recalls from noisy inputs."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.arguments import whole
from loadstone.measurements.noise import measured_noisy_accuracy, predicted_noisy_accuracy
from loadstone.problems.arrays import Arrays
from loadstone.problems.problem import Problem
from loadstone.solvers.margin import MaximumMargin, NoMarginError, maximum_margin

#: Deviations of the noise in units of an input's components, from almost none to more than the input itself.
NOISES = (0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2)
#: Draws of the noise for each input. With p inputs a share is then known to 0.05 / sqrt(p) or better.
DRAWS = 100
#: Relative gap to which margins are proved.
PROVED = 1e-6


@dataclass(frozen=True)
class NoisyRecall:
    """Recall from inputs with noise of one deviation.

    noise: the deviation.
    recalled: the share that is recalled, measured, and its error from the draws of the noise.
    predicted: the share that the memory's margins predict.
    """

    noise: float
    recalled: float
    error: float
    predicted: float


@dataclass(frozen=True)
class Robustness:
    """What came out.

    status: 'proved', 'not proved' if the gap stayed too wide, or why there is none: 'not storable' or 'undecided'.
    found: the memory of largest margin, if there is one.
    recalls: one for each noise.
    """

    status: str
    found: MaximumMargin | None
    recalls: tuple[NoisyRecall, ...]


def robustness(instance: Problem | Arrays, seed: int = 0) -> Robustness:
    """Find the largest margin, prove it, and recall from noisy inputs; the seed is that of the noise."""
    seed = whole("seed", seed, 0)
    try:
        found = maximum_margin(instance, PROVED)
    except NoMarginError as error:
        return Robustness(error.outcome.value, None, ())
    recalls = []
    for noise in NOISES:
        recalled, error_of_draws = measured_noisy_accuracy(instance, found.memory, noise, DRAWS, seed)
        predicted = predicted_noisy_accuracy(instance, found.memory, noise).predicted
        recalls.append(NoisyRecall(noise, recalled, error_of_draws, predicted))
    return Robustness("proved" if found.gap <= PROVED else "not proved", found, tuple(recalls))
