"""How many facts are lost when a memory that stores a stream is edited, edit after edit.

It starts from the memory of largest margin, which can change most before a fact is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from loadstone.arguments import choice, refuse, set_as, whole
from loadstone.problems.arrays import Arrays
from loadstone.problems.budget import Budget
from loadstone.problems.instance import Instance
from loadstone.problems.kinds import ORIGINAL
from loadstone.solvers.margin import NoMarginError, maximum_margin
from loadstone.solvers.refitting import refit
from loadstone.solvers.updates import all_at_once, one_at_a_time
from loadstone.tasks.checked_spec import CheckedSpec
from loadstone.tasks.fields import FIELDS
from loadstone.tasks.margin import MARGIN, margins
from loadstone.tasks.task import OneAtATime, require_full
from loadstone.threads import one_thread

#: 'rank-one' makes one edit after the other; 'batch' makes all edits so far at once, in the first memory; 'refit'
#: searches again, from the last memory, whenever the facts are counted.
METHODS = ("rank-one", "batch", "refit")
#: 'add' adds the next facts of the stream; 'change' gives other answers to its facts, from the first on.
ACTIONS = ("add", "change")
#: Relative accuracy of the largest margin.
_TOLERANCE = 0.01
#: Facts are counted at this many numbers of edits, spaced evenly, and at this many spaced evenly in the logarithm.
_EVENLY, _IN_LOGARITHM = 16, 9


@dataclass(frozen=True)
class Edits:
    """How a memory is edited.

    method: one of METHODS.
    action: one of ACTIONS.
    edits: how many edits there are in the end.
    """

    method: str = "rank-one"
    action: str = "add"
    edits: int = 32

    def __post_init__(self) -> None:
        choice("method", self.method, METHODS)
        choice("action", self.action, ACTIONS)
        set_as(self, "edits", whole("edits", self.edits, 1, 10**6))

    def counts(self) -> list[int]:
        """The numbers of edits after which facts are counted."""
        evenly = np.linspace(0, self.edits, _EVENLY + 1)[1:]
        counts = np.concatenate([evenly, np.geomspace(1, self.edits, _IN_LOGARITHM)])
        return [int(count) for count in np.unique(np.maximum(1, counts.round()))]


class Counted(NamedTuple):
    """How many facts a memory does not recall after some edits.

    edits: how many were made.
    lost: how many of the facts from the start that were not changed are not recalled.
    missed: how many of the edits are not recalled.
    undecided: how many of all these are not proved not to fit beside the others; counted for 'refit' only.
    """

    edits: int
    lost: int
    missed: int
    undecided: int = 0


def edited(instance: Instance, done: Edits) -> tuple[str, list[Counted]]:
    """Store an original instance, edit, and count. Returns 'edited' or why it is impossible, and the counts."""
    facts = _Facts(instance, done)
    start = _first(instance.without_arrays())
    if isinstance(start, str):
        return start, []
    with one_thread():
        margin = float(np.median(margins(facts.after(0), start)))
        method = {"rank-one": _rank_one, "batch": _batch, "refit": _refit}[done.method]
        return "edited", method(facts, start, margin, done.counts())


class _Facts:
    """The facts of a stream after a number of edits."""

    def __init__(self, instance: Instance, done: Edits) -> None:
        self.instance, self.p, self.action = instance, instance.p, done.action
        instance.first(self.p + done.edits).arrays()  # made once, not again for each edit
        first = instance.arrays()
        m = len(first.outputs)
        # Another answer than its own, each with the same probability.
        steps = np.random.default_rng(instance.stream.seed).integers(1, m, size=self.p)
        self.changed = (first.targets + steps) % m

    def after(self, edits: int) -> Arrays:
        if self.action == "add":
            return self.instance.first(self.p + edits).arrays()
        first = self.instance.arrays()
        targets = np.where(np.arange(self.p) < edits, self.changed, first.targets)
        return Arrays(first.inputs, first.outputs, targets)

    def rows(self, edits: int) -> range:
        """The rows of facts that are new or changed after so many edits."""
        return range(self.p, self.p + edits) if self.action == "add" else range(edits)

    def counted(self, weights: Float64[np.ndarray, "d d"], edits: int, undecided: int = 0) -> Counted:
        facts, rows = self.after(edits), np.asarray(self.rows(edits), int)
        lacking = margins(facts, weights) <= 0
        missed = int(lacking[rows].sum())
        return Counted(edits, int(lacking.sum()) - missed, missed, undecided)


def _rank_one(facts: _Facts, weights: Float64[np.ndarray, "d d"], margin: float, counts: list[int]) -> list[Counted]:
    counted = []
    for edits in range(1, counts[-1] + 1):
        weights = one_at_a_time(weights, facts.after(edits), [facts.rows(edits)[-1]], margin)
        if edits in counts:
            counted.append(facts.counted(weights, edits))
    return counted


def _batch(facts: _Facts, start: Float64[np.ndarray, "d d"], margin: float, counts: list[int]) -> list[Counted]:
    changed = (all_at_once(start, facts.after(edits), facts.rows(edits), margin) for edits in counts)
    return [facts.counted(weights, edits) for weights, edits in zip(changed, counts)]


def _refit(facts: _Facts, weights: Float64[np.ndarray, "d d"], margin: float, counts: list[int]) -> list[Counted]:
    counted, kept, undecided, before = [], list(range(facts.p)), 0, 0
    for edits in counts:
        new = facts.rows(edits)[before:]
        changed = set(new)
        result = refit(facts.after(edits), [*(row for row in kept if row not in changed), *new], weights)
        weights, kept, undecided, before = result.weights, list(result.kept), undecided + len(result.undecided), edits
        counted.append(facts.counted(weights, edits, undecided))
    return counted


@lru_cache(maxsize=64)
def _first(instance: Instance) -> Float64[np.ndarray, "d d"] | str:
    """The memory of largest margin, found once for all ways of editing in this process; or why there is none."""
    try:
        return np.asarray(maximum_margin(instance.without_arrays().arrays(), _TOLERANCE).memory.weights)
    except NoMarginError as error:
        return error.outcome.value


class Edited(OneAtATime):
    """The facts that a memory of p associations loses when it is edited."""

    settings = Edits
    fields = FIELDS["edits"]

    def check(self, spec: CheckedSpec) -> None:
        require_full(spec, "edits")
        if spec.problem != ORIGINAL:
            raise refuse("problem", spec.problem, "original for edits, which change what all facts share")

    def words(self, spec: CheckedSpec) -> str:
        done: Edits = spec.settings
        return f"{done.edits} edits ({done.action}) by {done.method}"

    def cost(self, spec: CheckedSpec, platform: str) -> float:
        # The first memory has the largest margin; near the capacity a refit takes a proof for each fact.
        done: Edits = spec.settings
        proofs = 0.01 * done.edits * (spec.d / 20) ** 4 if done.method == "refit" else 0.0
        return MARGIN.cost(spec, platform) + 0.004 * done.edits + proofs

    def result(self, spec: CheckedSpec, budget: Budget | None) -> dict[str, object]:
        status, counts = edited(spec.instance, spec.settings)
        return {"status": status} | dict(zip(Counted._fields, map(list, zip(*counts))))


EDITS = Edited()
