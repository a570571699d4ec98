"""Everything that the theory says about some facts and a family of memories: the answer of `loadstone predict`.

N facts with M answers each fit into memories of statistical dimension delta while N D(M) <= delta (answers.py). In the
paper's setting each fact has an answer of its own and all d x d memories, or all of one rank, are allowed; then p = N
associations have a load alpha = p log p / d^2, and more is known.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from loadstone.arguments import rank_fraction
from loadstone.frequencies import Frequencies
from loadstone.theory import caveats
from loadstone.theory.alone import query_dimension, winning_queries
from loadstone.theory.capacity import (
    asymptotic_capacity_associations,
    bits_per_parameter,
    capacity,
    finite_capacity,
    hebbian_associations,
    parameters,
)
from loadstone.theory.codimension import codimension
from loadstone.theory.cone import merge_law
from loadstone.theory.hebbian import finite_accuracy, finite_probability_all_stored
from loadstone.theory.load import load as load_of
from loadstone.theory.question import least_dimension, question_of, whole_part
from loadstone.theory.storable import probability_facts_storable


@dataclass(frozen=True)
class Prediction:
    """How many facts fit into a family of d x d memories, and whether these do.

    The numbers from `parameters` on are known in the paper's setting only, and None elsewhere: each fact has an answer
    of its own, all memories of a rank fraction are allowed, and no margin is asked for.
    """

    #: Dimension of inputs and outputs.
    d: int
    #: Number of facts: the paper's p associations.
    facts: int
    #: Number of answers that compete for each fact.
    answers: int
    #: The family of memories.
    family: str
    #: Rank fraction m / d of the memories, as it was asked for.
    kappa: float
    #: Whether each input has its own answers instead of sharing them with all others.
    decoupled: bool
    #: Margin by which each fact must be stored, in units of |W|.
    margin: float
    #: How often each answer is a target.
    frequencies: Frequencies
    #: 'd' or 'facts' if that one was not given but set to the capacity, else None.
    filled_in: str | None
    #: Statistical dimension of the family, seen through the answers.
    delta: float
    #: Whether the capacity is only an upper bound.
    bound: bool
    #: What one fact costs: D(M), the mean number of rivals that the projection onto the cone merges with the target.
    D: float
    #: The variance of that number without a margin.
    var_k: float
    #: Capacity: the number of facts with N D = delta, at finite size; less where answers are unequally frequent, or so
    #: many that single facts become impossible. Its whole part is the largest number more likely storable than not.
    facts_c: float
    #: How well the capacity is known where many different frequencies are taken together, else 0.
    facts_c_error: float
    #: Probability that a decoupled instance of this size is storable; None where it is not known.
    probability_storable: float | None
    #: Share of facts that can be stored alone: their output is a corner of the hull of all outputs.
    share_alone: float
    #: How many of the facts are impossible even alone, on average.
    impossible: float
    #: What to keep in mind, in words.
    caveats: tuple[str, ...]
    #: Free parameters of the memory: d^2 at full rank, 2 d m - m^2 in general.
    parameters: int | None = None
    #: Load p log p / d^2.
    alpha: float | None = None
    #: Load at capacity in the limit of large sizes.
    alpha_c: float | None = None
    #: Load at capacity for this p.
    alpha_c_finite: float | None = None
    #: Capacity of this d by the limit alone.
    p_c_asymptotic: float | None = None
    #: Number of associations that the Hebbian rule stores at this d, in the limit.
    p_hebbian: float | None = None
    #: Least dimension whose capacity is at least p.
    d_c: int | None = None
    #: log2(p!) bits over the number of parameters.
    bits_per_parameter: float | None = None
    #: The same at the capacity of this d.
    bits_per_parameter_at_capacity: float | None = None
    #: Expected share of the associations that the Hebbian rule recalls at this size.
    hebbian_accuracy: float | None = None
    #: Probability that the Hebbian rule recalls all of them.
    hebbian_probability_all_stored: float | None = None

    def __repr__(self) -> str:
        probability = "unknown" if self.probability_storable is None else f"{self.probability_storable:.3g}"
        return (
            f"Prediction(d={self.d}, facts={self.facts}, answers={self.answers}, family={self.family!r}, "
            f"capacity={self.facts_c:.4g}, probability_storable={probability})"
        )

    @property
    def p(self) -> int:
        """The number of facts, as the paper writes it."""
        return self.facts

    @property
    def p_c(self) -> float:
        """The capacity, as the paper writes it."""
        return self.facts_c

    @property
    def whole_capacity(self) -> int:
        """The largest number of facts that is at most the capacity."""
        return whole_part(self.facts_c)

    @property
    def is_paper_setting(self) -> bool:
        """Whether the numbers from `parameters` on are known."""
        return self.alpha is not None


def predict(
    d: int | None = None,
    facts: int | None = None,
    *,
    load: float | None = None,
    kappa: float = 1.0,
    answers: int | None = None,
    family: str = "full",
    decoupled: bool = False,
    margin: float = 0.0,
    frequencies: Frequencies = "uniform",
    p: int | None = None,
) -> Prediction:
    """The prediction for facts in d dimensions: how many fit, and whether these do.

    With d alone, facts are set to the capacity; with facts alone, d to the least dimension that holds them. A load may
    stand for either of them in the paper's setting.
    answers: how many compete for each fact; if left out, as many as there are facts.
    family: of memories, such as 'symmetric' or 'rank:25' (families.py). kappa: instead, their rank over d.
    p: an old name of facts.

    Example:
        >>> prediction = loadstone.predict(20, 85)
        >>> round(prediction.facts_c, 2), round(prediction.probability_storable, 2)
        (86.87, 0.71)
    """
    if p is not None:
        warnings.warn("predict(p=...) is an old name: say predict(facts=...).", DeprecationWarning, stacklevel=2)
        facts = p
    kappa = rank_fraction("kappa", kappa)
    question = question_of(d, load, kappa, answers, family, decoupled, margin, frequencies)
    d, facts, filled_in = question.size(d, facts, load)
    answers = question.answers or facts
    fitting, error = question.capacity(d)
    room, equal, known = question.room(d, answers), question.equal, question.is_known(d)
    queries = winning_queries(answers, query_dimension(room))
    impossible = facts * queries.impossible
    if question.is_paper_setting:
        words = caveats.words_of_pairs(d, kappa, decoupled)
    else:
        words = caveats.words_of_families(room, answers, decoupled, question.frequencies)
    words += [
        *caveats.words_of_a_margin(margin),
        *caveats.words_of_frequencies(equal, known, error),
        *caveats.words_of_impossible_facts(impossible, margin, paired=question.answers is None),
    ]
    if question.answers is not None and margin == 0 and equal:
        words += caveats.words_of_a_law_far_off(answers, room, fitting)
    return Prediction(
        d=d,
        facts=facts,
        answers=answers,
        family=room.family,
        kappa=kappa,
        decoupled=decoupled,
        margin=margin,
        frequencies=question.frequencies,
        filled_in=filled_in,
        delta=room.delta,
        bound=room.bound or not known or (margin > 0 and impossible > caveats.WORTH_SAYING),
        D=codimension(answers, margin),
        var_k=merge_law(answers).variance,
        facts_c=fitting,
        facts_c_error=error,
        # The kinematic formula is about cones, and about facts that all cost the same.
        probability_storable=probability_facts_storable(facts, answers, memories=room)
        if margin == 0 and equal
        else None,
        share_alone=queries.alone,
        impossible=impossible,
        caveats=tuple(words),
        **(_of_the_paper(d, facts, fitting, kappa) if question.is_paper_setting else {}),
    )


#: Old names of `Prediction` and `predict`, for those who had more facts than answers.
FactsPrediction = Prediction


def predict_facts(
    d: int | None = None,
    facts: int | None = None,
    *,
    answers: int | None = None,
    family: str = "full",
    decoupled: bool = False,
    margin: float = 0.0,
    frequencies: Frequencies = "uniform",
) -> Prediction:
    """The prediction of `predict`, under the name that it had for facts with answers.

    Example:
        >>> from loadstone.theory.prediction import predict_facts
        >>> predict_facts(12, answers=8).facts
        47
    """
    return predict(
        d, facts, answers=answers, family=family, decoupled=decoupled, margin=margin, frequencies=frequencies
    )


def _of_the_paper(d: int, p: int, p_c: float, kappa: float) -> dict[str, Any]:
    """The numbers that are known in the paper's setting only."""
    return {
        "parameters": int(parameters(d, kappa)),
        "alpha": float(load_of(p, d)),
        "alpha_c": float(capacity(kappa)),
        "alpha_c_finite": float(finite_capacity(p, kappa)),
        "p_c_asymptotic": float(asymptotic_capacity_associations(d, kappa)),
        "p_hebbian": float(hebbian_associations(d)),
        "d_c": least_dimension(p, kappa),
        "bits_per_parameter": float(bits_per_parameter(p, d, kappa=kappa)),
        "bits_per_parameter_at_capacity": float(bits_per_parameter(p_c, d, kappa=kappa)),
        "hebbian_accuracy": finite_accuracy(p, d),
        "hebbian_probability_all_stored": finite_probability_all_stored(p, d),
    }
