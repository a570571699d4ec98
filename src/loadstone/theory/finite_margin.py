"""The largest margin at finite d: what margin.py leaves out is that a query W e has only d components.

Leave one association out. Its query under the memory of the others is v ~ N(0, |W|^2/d) in d dimensions. Putting the
association back moves v to the nearest point where (u_target - u_rho) . v >= gamma |W| for all rho. The norm of W is
stationary when N D = d^2, as in margin.py, but with the distance in the space of queries:

    D = E dist^2(v, {v : (u_target - u_rho) . v / sqrt(d) >= gamma / l}),   v ~ N(0, I_d),   l = |e| / sqrt(d).

Without a margin only the angles between outputs matter, and D is D(M) of cone.py at every d. With one, lengths matter:
a short query or a short input has to be stretched to reach the margin. D is larger, and the margin smaller, by a share
of order 1/d. The distance is sampled, by non-negative least squares; that at gamma = 0, whose mean is known, takes most
of the noise away. docs/theory/finite_margin.md derives it. It is about the decoupled problem.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq, nnls
from scipy.special import gammaincinv

from loadstone.arguments import choice, refuse
from loadstone.estimate import Estimate
from loadstone.theory.checks import whole_number
from loadstone.theory.codimension import codimension
from loadstone.theory.margin import largest_margin

LENGTHS = ("gaussian", "sphere")


def finite_largest_margin(
    d: int,
    facts: float,
    *,
    answers: int | None = None,
    inputs: str = "gaussian",
    outputs: str = "gaussian",
    samples: int = 1000,
    seed: int = 0,
) -> Estimate:
    """The largest margin of N facts with M answers each (None: M = N) in a full memory of d x d, decoupled.

    inputs, outputs: 'gaussian', or 'sphere' for vectors of length sqrt(d). For d of about 10 to 100.

    Example:
        >>> from loadstone.theory.finite_margin import finite_largest_margin
        >>> round(finite_largest_margin(8, 10, answers=2, samples=16).value, 1)
        2.9
    """
    d = whole_number("d", d, 2, 1000)
    limit = largest_margin(d * d, facts, answers=answers)  # refuses what cannot be stored
    answers = int(facts if answers is None else answers)
    sampled = FiniteCodimension(d, answers, inputs, outputs, samples, seed)
    room = d * d / float(facts)
    low = limit
    while low > 1e-3 * limit and sampled.at(low).value > room:
        low /= 2
    margin = brentq(lambda gamma: sampled.at(gamma).value - room, low, 2 * low, xtol=1e-4 * limit)
    slope = (sampled.at(1.02 * margin).value - sampled.at(0.98 * margin).value) / (0.04 * margin)
    return Estimate(margin, sampled.at(margin).error / slope)


class FiniteCodimension:
    """D of the space of queries, from samples of one association, the same for every margin.

    Its limit for large d is `codimension` with a margin.
    """

    def __init__(
        self,
        d: int,
        answers: int,
        inputs: str = "gaussian",
        outputs: str = "gaussian",
        samples: int = 1000,
        seed: int = 0,
    ) -> None:
        choice("inputs", inputs, LENGTHS)
        choice("outputs", outputs, LENGTHS)
        self.samples = whole_number("samples", samples, 16, 10**7)
        self.seed = whole_number("seed", seed, 0, 2**32 - 1)
        self.d, self.answers, self.outputs = d, answers, outputs
        self.queries = self._generator(0).standard_normal((self.samples, d))
        self.lengths = np.ones(self.samples)
        if inputs == "gaussian":  # |e|^2 is chi-square: its quantiles, in random order
            ranks = (self._generator(1).permutation(self.samples) + 0.5) / self.samples
            self.lengths = np.sqrt(2 * gammaincinv(d / 2, ranks) / d)
        no_margin = np.array([
            _nearest(self._rivals(index, "gaussian"), self.queries[index], 0.0) for index in range(self.samples)
        ])  # fmt: skip
        # Both the squared distance to a cone and the number of rivals that are merged have the mean D(M).
        known = np.array([codimension(answers), codimension(answers), d])
        self.controls = np.column_stack([no_margin, (self.queries**2).sum(axis=1)]) - known

    def at(self, margin: float) -> Estimate:
        squares = np.array([
            _nearest(self._rivals(index, self.outputs), self.queries[index], margin / self.lengths[index])[0]
            for index in range(self.samples)
        ])  # fmt: skip
        terms = np.column_stack([np.ones(self.samples), self.controls])
        coefficients = np.linalg.lstsq(terms, squares, rcond=None)[0]
        rest = squares - terms @ coefficients
        return Estimate(float(coefficients[0]), float(rest.std(ddof=terms.shape[1]) / np.sqrt(self.samples)))

    def _rivals(self, index: int, outputs: str) -> np.ndarray:
        """(u_target - u_rho) / sqrt(d), one a row; drawn again each time, because all would take too much memory."""
        drawn = self._generator(2 + index).standard_normal((self.answers, self.d))
        if outputs == "sphere":
            drawn *= np.sqrt(self.d) / np.linalg.norm(drawn, axis=1, keepdims=True)
        return (drawn[0] - drawn[1:]) / np.sqrt(self.d)

    def _generator(self, part: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=[self.seed, part]))


def _nearest(rivals: np.ndarray, query: np.ndarray, margin: float) -> tuple[float, int]:
    """Squared distance of a query from {v : rivals v >= margin}, and how many constraints are active."""
    point, active = nearest_query(rivals, query, margin)
    if point is None:
        raise refuse("d", len(query), "larger, because here an output may lie between others, where it never wins")
    return float(((point - query) ** 2).sum()), active


def nearest_query(rivals: np.ndarray, query: np.ndarray, margin: float) -> tuple[np.ndarray | None, int]:
    """The point of {v : rivals v >= margin} that is nearest to a query (None if there is no such v), and how many
    constraints are active there.

    Lawson and Hanson: if r is what is left of (0, ..., 0, 1) after the best non-negative combination of the columns
    (rival, lack), the move to the nearest point is -r_i / r_last.
    """
    matrix = np.vstack([rivals.T, margin - rivals @ query])
    aim = np.zeros(len(matrix))
    aim[-1] = 1.0
    weights, _ = nnls(matrix, aim, maxiter=30 * matrix.shape[1])
    rest = aim - matrix @ weights
    return (None if rest[-1] < 1e-12 else query - rest[:-1] / rest[-1]), int((weights > 0).sum())
