"""The largest margin of an instance, and how well the memory that has it recalls from noisy inputs."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

from loadstone.arguments import whole
from loadstone.measurements.noise import measured_noisy_accuracy, predicted_noisy_accuracy
from loadstone.problems.arrays import Arrays, HasArrays
from loadstone.problems.budget import Budget
from loadstone.problems.numpy_pass import ExactPass
from loadstone.solvers.margin import NoMarginError, maximum_margin
from loadstone.tasks.checked_spec import CheckedSpec
from loadstone.tasks.fields import FIELDS
from loadstone.tasks.task import OneAtATime, require_full

#: Deviations of the noise in units of an input's components, from almost none to more than the input itself.
NOISES = (0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2)
#: Draws of the noise for each input. With p inputs a share is then known to 0.05 / sqrt(p) or better.
DRAWS = 100
#: Relative gap to which margins are proved.
PROVED = 1e-6


def robustness(instance: HasArrays, seed: int = 0) -> dict[str, object]:
    """The fields of a record: the largest margin with its proof, and the shares that are recalled from noisy inputs.

    Each share is measured, with its error from the draws of the noise, and predicted from the margins of the memory.

    seed: the seed of the noise.
    """
    seed = whole("seed", seed, 0)
    try:
        best = maximum_margin(instance, PROVED)
    except NoMarginError as error:
        return {"status": error.outcome.value}
    measured = [measured_noisy_accuracy(instance, best.memory, noise=noise, draws=DRAWS, seed=seed) for noise in NOISES]
    predicted = [predicted_noisy_accuracy(instance, best.memory, noise=noise).predicted for noise in NOISES]
    return {
        "status": "proved" if best.gap <= PROVED else "not proved",
        "margin": best.margin,
        "upper_bound": best.upper_bound,
        "gap": best.gap,
        "steps": best.passes,
        "noises": list(NOISES),
        "recalled": [share for share, _ in measured],
        "recalled_error": [error for _, error in measured],
        "recalled_predicted": predicted,
    }


def margins(arrays: Arrays, weights: Float64[np.ndarray, "d d"]) -> Float64[np.ndarray, "n"]:
    """By how much W scores each target above its best rival; negative where it does not recall the target."""
    exact = ExactPass(arrays)
    return np.asarray(exact.margins(exact.scores(weights)))


class Margin(OneAtATime):
    """The largest margin, proved, and the recall from noisy inputs of the memory that has it."""

    fields = FIELDS["margin"]

    def check(self, spec: CheckedSpec) -> None:
        require_full(spec, "a largest margin")

    def cost(self, spec: CheckedSpec, platform: str) -> float:
        return 0.2 + 1.5 * (spec.d / 30) ** 3

    def result(self, spec: CheckedSpec, budget: Budget | None) -> dict[str, object]:
        # The noise has the seed of the stream, so that the record can be made again.
        return robustness(spec.instance.arrays(), spec.seed)


MARGIN = Margin()
