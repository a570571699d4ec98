"""The largest margin of an instance, and how well the memory that has it recalls from noisy inputs."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.arguments import whole
from loadstone.deadline import Deadline
from loadstone.measurements.noise import measured_noisy_accuracy, predicted_noisy_accuracy
from loadstone.problems.arrays import HasArrays
from loadstone.problems.budget import Budget
from loadstone.solvers.margin import MaximumMargin, NoMarginError, maximum_margin
from loadstone.tasks.fields import FIELDS
from loadstone.tasks.task import Asked, OneAtATime, Result, require_full

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


def robustness(instance: HasArrays, seed: int = 0) -> Robustness:
    """Find the largest margin, prove it, and recall from noisy inputs; the seed is that of the noise."""
    seed = whole("seed", seed, 0)
    try:
        found = maximum_margin(instance, PROVED)
    except NoMarginError as error:
        return Robustness(error.outcome.value, None, ())
    recalls = []
    for noise in NOISES:
        recalled, error_of_draws = measured_noisy_accuracy(instance, found.memory, noise=noise, draws=DRAWS, seed=seed)
        predicted = predicted_noisy_accuracy(instance, found.memory, noise=noise).predicted
        recalls.append(NoisyRecall(noise, recalled, error_of_draws, predicted))
    return Robustness("proved" if found.gap <= PROVED else "not proved", found, tuple(recalls))


class Margin(OneAtATime):
    """The largest margin, proved, and the recall from noisy inputs of the memory that has it."""

    fields = FIELDS["margin"]

    def check(self, asked: Asked) -> None:
        require_full(asked, "a largest margin")

    def cost(self, asked: Asked, platform: str) -> float:
        return 0.2 + 1.5 * (asked.d / 30) ** 3

    def result(self, asked: Asked, budget: Budget | None) -> Result:
        clock = Deadline()
        # The noise has the seed of the stream, so that the record can be made again.
        measured = robustness(asked.instance.arrays(), asked.seed)
        fields: dict[str, object] = {"status": measured.status}
        if measured.found is not None:
            fields |= {"margin": measured.found.margin, "upper_bound": measured.found.upper_bound}
            fields |= {"gap": measured.found.gap, "steps": measured.found.passes}
            fields["noises"] = [one.noise for one in measured.recalls]
            fields["recalled"] = [one.recalled for one in measured.recalls]
            fields["recalled_error"] = [one.error for one in measured.recalls]
            fields["recalled_predicted"] = [one.predicted for one in measured.recalls]
        return Result(fields, clock.taken)


MARGIN = Margin()
