"""Public functions with arguments that they take, and what they say to others."""

import inspect
import warnings
from collections.abc import Callable, Iterator

import numpy as np

import loadstone
from loadstone.cli.options import associations_from
from loadstone.frequencies import check_answers
from loadstone.levels import half_levels
from loadstone.measurements.noise import measured_noisy_accuracy, predicted_noisy_accuracy
from loadstone.measurements.scores import single_scores
from loadstone.memories.subspaces.masked import Blocks
from loadstone.problems.budget import Budget
from loadstone.problems.grouped import grouped
from loadstone.problems.listwise import listwise as against_best_rivals
from loadstone.problems.padded import padded
from loadstone.runs.grid import grid
from loadstone.runs.spec import Spec
from loadstone.solvers import alternating, gradient, lbfgs, minibatch, normalised, perceptron, pruning
from loadstone.solvers import weighted as most
from loadstone.solvers.decide import ProofLimits
from loadstone.solvers.solve import solve
from loadstone.streams.laws.power_law import PowerLaw
from loadstone.tasks import approach, bits, edits, multi_start, reach, short_lists, space
from loadstone.tasks import margin as robustness
from loadstone.theory import (
    alone,
    answers,
    entropy,
    families,
    listwise,
    some_lost,
    storable,
)
from loadstone.theory import bits as rounded
from tests.theory.values import FORMULAS

STREAM = loadstone.Stream(0, 4)
PROBLEM = loadstone.original(STREAM, 6)
FULL = loadstone.initial_memory(4)
ROOM = families.statistical_dimension("full", 4)
#: Not probed: what mypy checks, what would be run or written, and what depends on the machine or on optax.
OBJECTS = set("checkpoint devices instance limits memory optimiser problem progress report solver stream".split())
#: Functions and classes with arguments that they take; formulas with those of their first kept value.
CALLS: dict[Callable, tuple] = {formula: calls[0] for formula, calls in FORMULAS.items()} | {
    Spec: ("original", 10, 20, 0),
    alone.winning_queries: (5, 4),
    alternating.Alternating: (), approach.PassesNearCapacity: (), bits.Bits: (), edits.Edits: (),
    minibatch.InBlocks: (),
    multi_start.MultiStart: (), gradient.Optax: ("adam",), gradient.Paper: (), lbfgs.LBFGS: (), minibatch.Minibatch: (),
    normalised.Normalised: (), perceptron.Perceptron: (), pruning.Pruning: (), space.Space: (),
    answers.facts_capacity: ("full", 4, 5),
    approach.approach: (loadstone.Instance(STREAM, 4),),
    associations_from: (6, None, 4),
    bits.largest_rounded: (loadstone.Instance(STREAM, 6), bits.Bits()),
    check_answers: (5, "uniform"),
    entropy.facts_free_entropy: (5, 4, 16.0, 4, 0),
    families.statistical_dimension: ("full", 4),
    families.rectangular: (3, 4),
    grid: (),
    half_levels: (3,),
    listwise.list_codimension: (6, 2, 2),
    listwise.limit_codimension: (0.5,),
    listwise.list_capacity: (4, 2, 2),
    Budget: (10**9,),
    loadstone.Instance: (STREAM, 6),
    loadstone.Limits: (), ProofLimits: (),
    loadstone.Stream: (0, 4),
    loadstone.decoupled: (STREAM, 6),
    grouped: (STREAM, 6, 2),
    loadstone.initial_memory: (4,),
    loadstone.exact_capacity: (loadstone.Instance(STREAM, 4),),
    against_best_rivals: (PROBLEM, 2),
    loadstone.maximum_margin: (PROBLEM,),
    measured_noisy_accuracy: (PROBLEM, FULL, 0.1),
    loadstone.original: (STREAM, 6),
    padded: (PROBLEM, 5),
    loadstone.predict: (4, 6),
    predicted_noisy_accuracy: (PROBLEM, FULL, 0.1),
    loadstone.sample: (PROBLEM,),
    single_scores: (PROBLEM, FULL, 0),
    solve: (PROBLEM,),
    loadstone.train: (PROBLEM,),
    most.store_most: (PROBLEM, FULL, 1.0),
    short_lists.recalled_in_list: (PROBLEM, FULL, 2),
    reach.largest_stored: (loadstone.Instance(STREAM, 6),),
    robustness.robustness: (PROBLEM,),
    rounded.counting_bound: (4, 1.0),
    rounded.rounded_facts: (4, 2),
    some_lost.codimension_with_losses: (5, 0.1, 2),
    some_lost.capacity_with_losses: (4, 10, 2),
    storable.facts_interval: (5, ROOM),
    storable.probability_facts_storable: (5, 4, ROOM),
    Blocks: (2,), PowerLaw: (1.0,),
}  # fmt: skip


def refusals() -> Iterator[tuple[str, str, str]]:
    """Each function with each of its arguments that is a number or a word, and what it says to a word without meaning;
    nothing if it takes it or fails otherwise."""
    for call, given in CALLS.items():
        parameters = inspect.signature(call).parameters
        names = [name for name in parameters if name != "self"]
        usual = {name: parameters[name].default for name in names} | dict(zip(names, given))
        for name, value in usual.items():
            if name not in OBJECTS and isinstance(value, int | float | str) and not isinstance(value, bool):
                said = _refusal(call, dict(zip(names, given)) | {name: "a word"})
                yield f"{call.__module__}.{call.__qualname__}", name, said


def _refusal(call: Callable, arguments: dict) -> str:
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):  # of old names
            call(**arguments)
    except ValueError as error:
        return str(error)
    except (TypeError, AttributeError):  # an argument that only mypy checks
        return ""
    return ""
