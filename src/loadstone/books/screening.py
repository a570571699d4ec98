"""What stands in the way of storing facts, seen before anything is stored, each with its exact reason.

- Two inputs in the same direction with different answers: W e scores the same answers for both.
- Two answers with the same vector: they tie under every W.
- A hidden answer: its vector lies in the convex hull of others, so one of those always scores at least as high.
- A conic input: a combination with positive weights of inputs that all have one other answer. If W gives each of these
  its answer, it gives this answer to the combination too.

The first two are found by sorting, and they are exact: directions and vectors that differ in the last digit are
different. The last two need a small linear program each, so they are looked for only among the facts that a quick
search does not store: nothing can stand in the way of facts that are stored. A combination that is one to rounding, but
not proved to be one, is named as such.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64, Int
from scipy.optimize import linprog, nnls

from loadstone.arguments import positive
from loadstone.books.directions import same_directions
from loadstone.books.gathered import Gathered
from loadstone.deadline import Deadline
from loadstone.problems.arrays import Arrays
from loadstone.problems.moderate import moderate
from loadstone.problems.numpy_pass import margins_of
from loadstone.proofs.strict import excludes_all
from loadstone.proofs.verdict import Outcome, Verdict, what_a_certificate_proves
from loadstone.readable import readable
from loadstone.solvers.decide import decide
from loadstone.threads import one_thread

#: A combination is one to rounding if it misses the vector by less than this share of its length.
_ROUNDING = 1e-9
#: A fact whose multipliers are below this share of the largest is not part of a contradiction; one of more facts than
#: this is none that people can read.
_NEGLIGIBLE, _FEW = 1e-9, 30


@dataclass(frozen=True)
class Obstruction:
    """One reason why facts cannot be stored.

    kind: 'parallel inputs', 'equal answers', 'hidden answer' or 'conic input'.
    facts: the rows of the facts that cannot all be stored.
    impossible: those of them that cannot be stored whatever happens to the others.
    statement: the reason in words, with the names.
    advice: what to do.
    multipliers: the weights of the facts and answers in the statement, which prove it: (fact, answer) -> weight.
    to_rounding: whether it is a reason only to rounding: then it proves nothing, and some W may store these facts, but
        by tiny margins.
    """

    kind: str
    facts: tuple[int, ...]
    impossible: tuple[int, ...]
    statement: str
    advice: str
    multipliers: Mapping[tuple[int, int], float]
    to_rounding: bool = False

    __repr__ = readable

    @property
    def left_out(self) -> tuple[int, ...]:
        """Rows to leave out so that the others are no longer obstructed."""
        return self.impossible or self.facts[1:]

    def is_proved(self, gathered: Gathered, present: Collection[int]) -> bool:
        """Whether it proves, despite rounding, that the facts `present` cannot all be stored."""
        if not {fact for fact, _ in self.multipliers} <= set(present):
            return False
        arrays, certificate = self._certificate(gathered)
        return excludes_all(arrays, certificate)

    def verdict(self, gathered: Gathered) -> Verdict:
        """The verdict that its facts are not storable, with a certificate about these facts alone."""
        clock = Deadline()
        _, certificate = self._certificate(gathered)
        reason = what_a_certificate_proves(None)
        return Verdict(Outcome.NOT_STORABLE, 0, 0, 0, clock.taken, certificate=certificate, reason=reason)

    def _certificate(self, gathered: Gathered) -> tuple[Arrays, Float64[np.ndarray, "n m"]]:
        rows = sorted({fact for fact, _ in self.multipliers})
        certificate = np.zeros((len(rows), len(gathered.outputs)))
        for (fact, answer), weight in self.multipliers.items():
            certificate[rows.index(fact), answer] = weight
        return gathered.arrays(rows), certificate


@dataclass(frozen=True)
class Screening:
    """The result of screening facts before they are stored.

    input_rank, output_rank: how many directions the inputs span, and the answers about their mean.
    obstructions: what stands in the way.
    verdict: whether all facts can be stored together, with its proof.
    aside: the facts to leave out so that no two subjects or answers are in each other's way any more.
    others: the verdict on the facts without these; None if none are left.
    """

    input_rank: int
    output_rank: int
    obstructions: tuple[Obstruction, ...]
    verdict: Verdict
    aside: tuple[int, ...]
    others: Verdict | None

    __repr__ = readable


def screen(gathered: Gathered, seconds: float = 20.0) -> Screening:
    """Screen facts, in at most `seconds` for the verdicts, and as many again for what stands in the way."""
    deadline = Deadline(positive("seconds", seconds))
    by_sorting, all_facts = obstructions(gathered), range(len(gathered))
    aside = sorted({fact for obstruction in by_sorting for fact in obstruction.left_out})
    rest = sorted({*all_facts} - {*aside})
    # What sorting found is a proof about a few facts, and so about all of them: a search need not find it again.
    verdict = next((reason.verdict(gathered) for reason in by_sorting if reason.is_proved(gathered, all_facts)), None)
    if verdict is None:
        verdict = decide(gathered.arrays(), seconds=deadline.share(0.5 if aside else 1.0))
    others: Verdict | None = verdict
    if aside:
        others = decide(gathered.arrays(rest), seconds=deadline.share(1.0)) if rest else None
    doubtful: list[int] = []
    if others is not None and others.verdict != Outcome.STORABLE:
        assert others.last is not None
        doubtful = [rest[index] for index in _in_doubt(others, margins_of(others.last, gathered, rest))]
    inputs, outputs = (moderate(part)[0].astype(np.float64) for part in (gathered.inputs, gathered.outputs))
    with one_thread():
        ranks = [int(np.linalg.matrix_rank(part)) for part in (inputs, outputs - outputs.mean(axis=0))]
    reasons = tuple(obstructions(gathered, doubtful, seconds))
    return Screening(ranks[0], ranks[1], reasons, verdict, tuple(aside), others)


def _in_doubt(verdict: Verdict, margins: Float64[np.ndarray, "n"]) -> Int[np.ndarray, "k"]:
    """The facts that the last W does not store, and those that contradict each other, if the proof names a few."""
    doubtful = np.flatnonzero(~(margins > 0))
    if verdict.certificate is None:
        return doubtful
    weights = verdict.certificate.sum(axis=1)
    named = np.flatnonzero(weights > _NEGLIGIBLE * weights.max())
    return np.union1d(doubtful, named) if len(named) <= _FEW else doubtful


def obstructions(gathered: Gathered, doubtful: Sequence[int] = (), seconds: float = math.inf) -> list[Obstruction]:
    """The obstructions that sorting finds, and the hidden answers and conic inputs among the doubtful facts that are
    found in `seconds`: for thousands of facts and hundreds of answers, all pairs would take minutes."""
    deadline = Deadline(seconds)
    by_sorting = [*_parallel(gathered), *_equal(gathered)]
    known = {fact for obstruction in by_sorting for fact in obstruction.facts}
    rest = [fact for fact in doubtful if fact not in known]
    hidden = list(_hidden(gathered, rest, deadline))
    impossible = {fact for obstruction in hidden for fact in obstruction.impossible}
    rest = [fact for fact in rest if fact not in impossible]
    return [*by_sorting, *hidden, *_conic(gathered, rest, deadline)]


def _parallel(gathered: Gathered) -> Iterator[Obstruction]:
    inputs, target = gathered.inputs.astype(np.float64), gathered.targets
    for rows in same_directions(gathered.inputs):
        first = rows[0]
        largest = int(np.abs(inputs[first]).argmax())
        for row in rows[1:]:
            if target[row] == target[first]:
                continue
            names = f"{gathered.name(first)}; {gathered.name(row)}"
            same = gathered.subjects[first] == gathered.subjects[row]
            what = "ask for two answers with one subject" if same else "have subjects with the same direction"
            # The ratio of two entries is exactly that of the lengths.
            sizes = np.abs(inputs[[first, row], largest])
            weights = {(first, int(target[row])): sizes[1], (row, int(target[first])): sizes[0]}
            yield Obstruction(
                "parallel inputs", (first, row), (), f"{names}: these facts {what}, so at most one answer can win.",
                "keep one of them, or give the subjects different vectors.", weights,
            )  # fmt: skip


def _equal(gathered: Gathered) -> Iterator[Obstruction]:
    groups = defaultdict(list)
    for answer, vector in enumerate(gathered.outputs):
        groups[(vector + 0.0).tobytes()].append(answer)
    for answers in groups.values():
        if len(answers) > 1:
            names = ", ".join(gathered.answers[answer] for answer in answers)
            for row in map(int, np.flatnonzero(np.isin(gathered.targets, answers))):
                other = next(answer for answer in answers if answer != gathered.targets[row])
                yield Obstruction(
                    "equal answers", (row,), (row,), f"{names}: these answers have the same vector and always tie.",
                    "give them one name, or different vectors.", {(row, other): 1.0},
                )  # fmt: skip


def _hidden(gathered: Gathered, doubtful: list[int], deadline: Deadline) -> Iterator[Obstruction]:
    outputs = moderate(gathered.outputs)[0].astype(np.float64)
    by_answer = defaultdict(list)
    for fact in doubtful:
        by_answer[int(gathered.targets[fact])].append(fact)
    for answer, rows in by_answer.items():
        if deadline.is_over:
            return
        others = np.delete(np.arange(len(outputs)), answer)
        weights = _convex(outputs[answer], outputs[others], deadline.left)
        if weights is None:
            continue
        mixed = f"{gathered.answers[answer]} = {_combination(weights, [gathered.answers[other] for other in others])}"
        advice, mix = "give the answer another vector, or leave its facts out.", dict(zip(others.tolist(), weights))
        reasons = [
            Obstruction(
                "hidden answer", (row,), (row,), f"{mixed}: one of these answers always scores at least as high.",
                f"no W can recall it: {advice}", {(row, other): float(mix[other]) for other in mix if mix[other] > 0},
            ) for row in rows
        ]  # fmt: skip
        if not reasons[0].is_proved(gathered, rows):
            statement = f"{mixed} to rounding: it cannot win by a margin of more than that."
            reasons = [
                replace(reason, impossible=(), statement=statement, advice=advice, to_rounding=True)
                for reason in reasons
            ]
        yield from reasons


def _conic(gathered: Gathered, doubtful: list[int], deadline: Deadline) -> Iterator[Obstruction]:
    if not doubtful:
        return
    vectors, exponents = moderate(gathered.inputs, axis=1)
    inputs = vectors.astype(np.float64)
    order = np.argsort(gathered.targets, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(gathered.targets[order])) + 1)
    several = [rows for rows in groups if len(rows) > 1]
    alone = np.array([rows[0] for rows in groups if len(rows) == 1], int)
    lengths = np.linalg.norm(inputs, axis=1)
    for fact in doubtful:
        # A single input would have to be parallel, to rounding: those that are so exactly are known by now.
        along = inputs[alone] @ inputs[fact] > (1 - _ROUNDING) * lengths[alone] * lengths[fact]
        for rows in (*alone[along][:, None], *several):
            answer = int(gathered.targets[rows[0]])
            if deadline.is_over:
                return
            if answer == gathered.targets[fact]:
                continue
            shares, miss = nnls(inputs[rows].T, inputs[fact])
            if shares.any() and miss <= _ROUNDING * lengths[fact]:
                members = rows[shares > 0]
                with np.errstate(over="ignore", under="ignore"):
                    weights = np.ldexp(shares[shares > 0], exponents[fact] - exponents[members])
                yield _conic_input(gathered, fact, answer, dict(zip(members.tolist(), weights.tolist())))
                break


def _conic_input(gathered: Gathered, fact: int, answer: int, weights: Mapping[int, float]) -> Obstruction:
    """The reason that the input of a fact is this combination of inputs with another answer."""
    subject, own, other = gathered.subjects[fact], int(gathered.targets[fact]), gathered.answers[answer]
    combination = f"{subject} = {_combination(weights.values(), [gathered.subjects[row] for row in weights])}"
    have, them = ("which has", "it") if len(weights) == 1 else ("and all of these have", "them")
    reason = Obstruction(
        "conic input", (fact, *weights), (),
        f"{combination}, {have} the answer {other}: a W that stores {them} gives this answer to {subject} too.",
        f"leave one of these facts out, or give {subject} another vector.",
        {(row, own): weight for row, weight in weights.items()} | {(fact, answer): 1.0},
    )  # fmt: skip
    if reason.is_proved(gathered, reason.facts):
        return reason
    near = f"beside {them} {subject} cannot win by a margin of more than that."
    statement = f"{combination} to rounding, {have} the answer {other}: {near}"
    return replace(reason, statement=statement, to_rounding=True)


def _convex(
    vector: Float64[np.ndarray, "d"], others: Float64[np.ndarray, "m d"], seconds: float
) -> Float64[np.ndarray, "m"] | None:
    """Weights with which the vector is a convex combination of the others, if it is one and time allows to find it."""
    size = np.abs(others - vector).max() or 1.0
    equal = np.vstack([(others - vector).T / size, np.ones(len(others))])
    wanted = np.append(np.zeros(len(vector)), 1.0)
    limit = {} if math.isinf(seconds) else {"time_limit": max(1e-3, seconds)}
    costs = np.zeros(len(others))
    program = linprog(costs, A_eq=equal, b_eq=wanted, bounds=(0, None), method="highs", options=limit)
    if program.status != 0 or np.abs(equal @ program.x - wanted).max() > _ROUNDING:
        return None
    return program.x


def _combination(weights: Iterable[float], names: Iterable[str], most: int = 6) -> str:
    every = list(zip(weights, names))
    largest = max(weight for weight, _ in every)
    terms = [(weight, name) for weight, name in every if weight > 1e-12 * largest]
    terms.sort(key=lambda term: -round(term[0] / largest, 9))
    shown = " + ".join(f"{weight:.3g} {name}" for weight, name in terms[:most])
    return shown + (f" + {len(terms) - most} more" if len(terms) > most else "")
