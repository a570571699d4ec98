"""What stands in the way of storing facts, seen before anything is stored, each with its exact reason.

- Two inputs in the same direction with different answers: W e scores the same answers for both.
- Two answers with the same vector: they tie under every W.
- A hidden answer: its vector lies in the convex hull of others, so one of those always scores at least as high.
- A conic input: a combination with positive weights of inputs that all have one other answer. If W gives each of these
  its answer, it gives this answer to the combination too.

The first two are found by sorting. The last two need a small linear program each, so they are looked for only among the
facts that a quick search does not store: nothing can stand in the way of facts that are stored.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.optimize import linprog, nnls

from loadstone.arguments import positive
from loadstone.books.gathered import Gathered
from loadstone.deadline import Deadline
from loadstone.problems.arrays import Arrays
from loadstone.problems.numpy_pass import margins_of
from loadstone.proofs.strict import excludes_all
from loadstone.proofs.verdict import Outcome, Verdict, what_a_certificate_proves
from loadstone.readable import readable
from loadstone.solvers.decide import decide
from loadstone.threads import one_thread

#: Directions that differ by less are the same to float32, in which most vectors were made.
_SAME_DIRECTION = 1e-6
#: A combination counts as equal to a vector if it misses it by less than this share of the vector's length.
_EXACT = 1e-9


@dataclass(frozen=True)
class Obstruction:
    """One reason why facts cannot be stored.

    kind: 'parallel inputs', 'equal answers', 'hidden answer' or 'conic input'.
    facts: the rows of the facts that cannot all be stored.
    impossible: those of them that cannot be stored whatever happens to the others.
    statement: the reason in words, with the names.
    advice: what to do.
    multipliers: the weights of the facts and answers in the statement, which prove it: (fact, answer) -> weight.
    """

    kind: str
    facts: tuple[int, ...]
    impossible: tuple[int, ...]
    statement: str
    advice: str
    multipliers: Mapping[tuple[int, int], float]

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
    """

    input_rank: int
    output_rank: int
    obstructions: tuple[Obstruction, ...]
    verdict: Verdict

    __repr__ = readable


def screen(gathered: Gathered, seconds: float = 20.0) -> Screening:
    """Screen facts, in at most `seconds` for the verdict, and as many again for what stands in the way."""
    positive("seconds", seconds)
    by_sorting = obstructions(gathered)
    aside = {fact for obstruction in by_sorting for fact in obstruction.left_out}
    rest = [fact for fact in range(len(gathered)) if fact not in aside]
    verdict = decide(gathered.arrays(rest), seconds=seconds) if rest else None
    doubtful: list[int] = []
    if verdict is not None and verdict.verdict != Outcome.STORABLE:
        assert verdict.last is not None
        margins = margins_of(verdict.last, gathered, rest)
        doubtful = [fact for fact, margin in zip(rest, margins) if margin <= 0]
    # What sorting found is a proof about a few facts, and so about all of them: a search need not find it again.
    all_facts = range(len(gathered))
    proved = next((reason.verdict(gathered) for reason in by_sorting if reason.is_proved(gathered, all_facts)), verdict)
    assert proved is not None
    inputs, outputs = (part.astype(np.float64) for part in (gathered.inputs, gathered.outputs))
    with one_thread():
        ranks = [int(np.linalg.matrix_rank(part)) for part in (inputs, outputs - outputs.mean(axis=0))]
    return Screening(ranks[0], ranks[1], tuple(obstructions(gathered, doubtful, seconds)), proved)


def obstructions(gathered: Gathered, doubtful: Sequence[int] = (), seconds: float = math.inf) -> list[Obstruction]:
    """The obstructions that sorting finds, and the hidden answers and conic inputs among the doubtful facts that are
    found in `seconds`: for thousands of facts and hundreds of answers, all pairs would take minutes."""
    deadline = Deadline(seconds)
    inputs, outputs = (part.astype(np.float64) for part in (gathered.inputs, gathered.outputs))
    by_sorting = [*_parallel(gathered, inputs), *_equal(gathered)]
    known = {fact for obstruction in by_sorting for fact in obstruction.facts}
    rest = [fact for fact in doubtful if fact not in known]
    hidden = list(_hidden(gathered, outputs, rest, deadline))
    impossible = {fact for obstruction in hidden for fact in obstruction.impossible}
    rest = [fact for fact in rest if fact not in impossible]
    return [*by_sorting, *hidden, *_conic(gathered, inputs, rest, deadline)]


def _parallel(gathered: Gathered, inputs: Float64[np.ndarray, "n d"]) -> Iterator[Obstruction]:
    lengths = np.linalg.norm(inputs, axis=1)
    for rows in alike(inputs / lengths[:, None]):
        first, target = rows[0], gathered.targets
        for row in rows[1:]:
            if target[row] == target[first]:
                continue
            names = f"{gathered.name(first)}; {gathered.name(row)}"
            same = gathered.subjects[first] == gathered.subjects[row]
            what = "ask for two answers with one subject" if same else "have subjects with the same direction"
            weights = {(first, int(target[row])): lengths[row], (row, int(target[first])): lengths[first]}
            yield Obstruction(
                "parallel inputs", (first, row), (), f"{names}: these facts {what}, so at most one answer can win.",
                "keep one of them, or give the subjects different vectors.", weights,
            )  # fmt: skip


def _equal(gathered: Gathered) -> Iterator[Obstruction]:
    groups = defaultdict(list)
    for answer, vector in enumerate(gathered.outputs):
        groups[vector.tobytes()].append(answer)
    for answers in groups.values():
        if len(answers) > 1:
            names = ", ".join(gathered.answers[answer] for answer in answers)
            for row in map(int, np.flatnonzero(np.isin(gathered.targets, answers))):
                other = next(answer for answer in answers if answer != gathered.targets[row])
                yield Obstruction(
                    "equal answers", (row,), (row,), f"{names}: these answers have the same vector and always tie.",
                    "give them one name, or different vectors.", {(row, other): 1.0},
                )  # fmt: skip


def _hidden(
    gathered: Gathered, outputs: Float64[np.ndarray, "m d"], doubtful: list[int], deadline: Deadline
) -> Iterator[Obstruction]:
    by_answer = defaultdict(list)
    for fact in doubtful:
        by_answer[int(gathered.targets[fact])].append(fact)
    for answer, rows in by_answer.items():
        if deadline.is_over:
            return
        others = np.delete(np.arange(len(outputs)), answer)
        weights = _convex(outputs[answer], outputs[others], deadline.left)
        if weights is not None:
            mixed = _combination(weights, [gathered.answers[other] for other in others])
            statement = f"{gathered.answers[answer]} = {mixed}: one of these answers always scores at least as high."
            advice = "no W can recall it: give the answer another vector, or leave its facts out."
            for row in rows:
                mix = {(row, int(other)): float(weight) for other, weight in zip(others, weights) if weight > 0}
                yield Obstruction("hidden answer", (row,), (row,), statement, advice, mix)


def _conic(
    gathered: Gathered, inputs: Float64[np.ndarray, "n d"], doubtful: list[int], deadline: Deadline
) -> Iterator[Obstruction]:
    if not doubtful:
        return
    order = np.argsort(gathered.targets, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(gathered.targets[order])) + 1)
    # A single input would have to be parallel, and parallel inputs are known by now.
    several = [(int(gathered.targets[rows[0]]), rows) for rows in groups if len(rows) > 1]
    for fact in doubtful:
        for answer, rows in several:
            if deadline.is_over:
                return
            if answer == gathered.targets[fact]:
                continue
            weights, miss = nnls(inputs[rows].T, inputs[fact])
            if miss <= _EXACT * np.linalg.norm(inputs[fact]):
                members = rows[weights > 0]
                mixed = _combination(weights[weights > 0], [gathered.subjects[row] for row in members])
                subject, other = gathered.subjects[fact], gathered.answers[answer]
                statement = (
                    f"{subject} = {mixed}, and all of these have the answer {other}: "
                    f"a W that stores them gives this answer to {subject} too."
                )
                advice = f"leave one of these facts out, or give {subject} another vector."
                own = int(gathered.targets[fact])
                mix = {(int(row), own): float(weight) for row, weight in zip(members, weights[weights > 0])}
                rows_in = (fact, *map(int, members))
                yield Obstruction("conic input", rows_in, (), statement, advice, mix | {(fact, answer): 1.0})
                break


def alike(directions: Float64[np.ndarray, "n d"]) -> list[list[int]]:
    """Groups of rows that are the same to rounding. Sorted by their component along a random direction, such rows lie
    next to each other, so each is compared with the few before it only."""
    axis = np.random.default_rng(0).standard_normal(directions.shape[1])
    along, window = directions @ axis, _SAME_DIRECTION * float(np.linalg.norm(axis))
    groups: list[list[int]] = []
    for row in map(int, np.argsort(along, kind="stable")):
        for group in reversed(groups):
            if along[row] - along[group[0]] > window:
                groups.append([row])
                break
            if np.linalg.norm(directions[row] - directions[group[0]]) < _SAME_DIRECTION:
                group.append(row)
                break
        else:
            groups.append([row])
    return [sorted(group) for group in groups if len(group) > 1]


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
    if program.status != 0 or np.abs(equal @ program.x - wanted).max() > _EXACT:
        return None
    return program.x


def _combination(weights: Iterable[float], names: Iterable[str], most: int = 6) -> str:
    terms = [(weight, name) for weight, name in zip(weights, names) if weight > 1e-12]
    terms.sort(key=lambda term: -round(term[0], 9))
    shown = " + ".join(f"{weight:.3g} {name}" for weight, name in terms[:most])
    return shown + (f" + {len(terms) - most} more" if len(terms) > most else "")
