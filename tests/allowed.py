"""What every public function allows as its arguments, in the words in which it refuses others, and its defaults; and
the defaults of commands.

    python -m tests.allowed      # after a deliberate change: rewrite allowed.json, and read its diff

Users rely on both, and a bound or a default that has changed breaks no formula. So they are kept.
"""

import inspect
import json
import warnings
from collections.abc import Callable, Iterator
from enum import EnumType
from importlib import import_module
from pathlib import Path

import numpy as np
import typer

import loadstone
from loadstone.books import budget, editing, gathered, screening, storing
from loadstone.cli import app
from loadstone.cli.size import associations_from
from loadstone.frequencies import check_answers
from loadstone.levels import half_levels
from loadstone.memories.masks import RandomMask
from loadstone.memories.rounding import RoundedTo
from loadstone.memories.subspaces.masked import Blocks
from loadstone.memories.two_layers import Hidden
from loadstone.runs.grid import grid
from loadstone.runs.spec import Spec
from loadstone.solvers import alternating, gradient, lbfgs, minibatch, normalised, perceptron, pruning
from loadstone.solvers import weighted as most
from loadstone.streams.laws.power_law import PowerLaw
from loadstone.sweeps.catalogue import named_sweep
from loadstone.tasks import approach, bits, edits, effort, reach, short_lists, space
from loadstone.tasks import margin as robustness
from loadstone.theory import (
    alone,
    annealed,
    answers,
    corrections,
    entropy,
    families,
    listwise,
    some_lost,
    storable,
    typical,
)
from loadstone.theory import bits as rounded
from tests.theory.test_extreme_arguments import FORMULAS

KEPT = Path(__file__).with_name("allowed.json")
STREAM = loadstone.Stream(0, 4)
PROBLEM = loadstone.original(STREAM, 6)
FULL = loadstone.initial_memory(4)
ROOM = families.statistical_dimension("full", 4)
#: Not probed: what mypy checks, what would be run or written, and what depends on the machine or on optax.
OBJECTS = set("checkpoint devices instance limits memory optimiser problem progress report solver stream".split())
#: Functions and classes with arguments that they take. Formulas of one or two numbers are in FORMULAS.
CALLS: dict[Callable, tuple] = FORMULAS | {
    Spec: ("original", 10, 20, 0),
    alone.winning_queries: (5, 4),
    alternating.Alternating: (), approach.Approach: (), bits.Bits: (), minibatch.InBlocks: (), edits.Edits: (),
    effort.Effort: (), gradient.Optax: ("adam",), gradient.Paper: (), lbfgs.LBFGS: (), minibatch.Minibatch: (),
    normalised.Normalised: (), perceptron.Perceptron: (), pruning.Pruning: (), space.Space: (),
    annealed.volume_ratio: (2, 2, 2, 1, 0),
    answers.codimension: (5, 0.0),
    answers.facts_capacity: ("full", 4, 5),
    answers.memories_seen: ("full", 4, 5),
    approach.approach: ("original", STREAM, 4),
    associations_from: (6, None, 4),
    bits.largest_rounded: ("original", STREAM, 6, bits.Bits()),
    check_answers: (5, "uniform"),
    corrections.crossing: (20,),
    corrections.expanded_mean_merged: (20,),
    entropy.facts_free_entropy: (5, 4, 16.0, 4, 0),
    families.statistical_dimension: ("full", 4),
    families.rectangular: (3, 4),
    grid: (),
    half_levels: (3,),
    listwise.list_codimension: (6, 2, 2),
    listwise.limit_codimension: (0.5,),
    listwise.list_capacity: (4, 2, 2),
    loadstone.Budget: (10**9,),
    loadstone.Limits: (), loadstone.ProofLimits: (),
    loadstone.Stream: (0, 4),
    loadstone.decoupled: (STREAM, 6),
    loadstone.grouped: (STREAM, 6, 2),
    loadstone.initial_memory: (4,),
    loadstone.instance_capacity: ("original", STREAM),
    loadstone.listwise: (PROBLEM, 2),
    loadstone.maximum_margin: (PROBLEM,),
    loadstone.measured_noisy_accuracy: (PROBLEM, FULL, 0.1),
    loadstone.original: (STREAM, 6),
    loadstone.padded: (PROBLEM, 5),
    loadstone.predict: (4, 6),
    loadstone.predicted_noisy_accuracy: (PROBLEM, FULL, 0.1),
    loadstone.sample: (PROBLEM,),
    loadstone.single_scores: (PROBLEM, FULL, 0),
    loadstone.solve: (PROBLEM,),
    loadstone.train: (PROBLEM,),
    most.store_most: (PROBLEM, FULL, 1.0),
    named_sweep: ("accuracy",),
    short_lists.recalled_in_list: (PROBLEM, FULL, 2),
    reach.largest_stored: ("original", STREAM, 6),
    robustness.robustness: (PROBLEM,),
    rounded.counting_bound: (4, 1.0),
    rounded.rounded_facts: (4, 2),
    some_lost.cost_with_losses: (5, 0.1, 2),
    some_lost.capacity_with_losses: (4, 10, 2),
    storable.facts_interval: (5, ROOM),
    storable.probability_facts_storable: (5, 4, ROOM),
    typical.low_rank_free_entropy: (0.1, 1.0, 4, 0),
    Blocks: (2,), Hidden: (3,), PowerLaw: (1.0,), RandomMask: (0.5,), RoundedTo: (2,),
    # Only their defaults: without a book there is nothing to be refused.
    budget.budget_of: (), editing.edit: (), gathered.gather: (), screening.screen: (), storing.remember: (),
    storing.store: (),
}  # fmt: skip


def allowed() -> dict[str, dict[str, str]]:
    """For every function the defaults of its arguments, and what it says if one of them is a word without meaning."""
    public = [getattr(loadstone, name) for names in loadstone._HOMES.values() for name in names]
    calls = CALLS | {one: () for one in public if callable(one) and one not in CALLS and not isinstance(one, EnumType)}
    found = {f"{call.__module__}.{call.__qualname__}": _arguments(call, given) for call, given in calls.items()}
    found |= {f"loadstone {name}": _arguments(command, ()) for name, command in _commands()}
    return {name: said for name, said in sorted(found.items()) if said}


def _commands() -> Iterator[tuple[str, Callable]]:
    for name, home in app.COMMANDS.items():
        command = getattr(import_module(f"loadstone.cli.{home}"), name)
        if isinstance(command, typer.Typer):
            yield from ((f"{name} {one.callback.__name__}", one.callback) for one in command.registered_commands)
        else:
            yield name, command


def _arguments(call: Callable, given: tuple) -> dict[str, str]:
    parameters = inspect.signature(call).parameters
    names, found = [name for name in parameters if name != "self"], {}
    for name in names:
        default = parameters[name].default
        shown = "" if default is inspect.Parameter.empty or callable(default) else f"{default!r}; "
        probed = call in CALLS and name not in OBJECTS
        said = _refusal(call, dict(zip(names, given)) | {name: "a word"}) if probed else ""
        if shown + said:
            found[name] = (shown + said).removesuffix("; ")
    return found


def _refusal(call: Callable, arguments: dict) -> str:
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):  # of old names
            call(**arguments)
    except ValueError as error:
        return str(error).partition("but must be ")[2]
    except (TypeError, AttributeError):  # an argument that only mypy checks
        return ""
    return ""


if __name__ == "__main__":
    KEPT.write_text(json.dumps(allowed(), indent=1) + "\n")
