"""Every public function and every class that a user makes, called with arguments that it takes but for one."""

import datetime
import re
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import loadstone
from loadstone.measurements.noise import measured_noisy_accuracy, predicted_noisy_accuracy
from loadstone.measurements.scores import scores, single_scores
from loadstone.measurements.spectrum import singular_values
from loadstone.memories.families import subspace_of
from loadstone.memories.full import Full
from loadstone.memories.low_rank import LowRank
from loadstone.memories.projected import Projected
from loadstone.memories.recall import recall_index
from loadstone.memories.subspaces.given import Given
from loadstone.memories.subspaces.masked import Blocks, Masked
from loadstone.problems.arrays import Arrays
from loadstone.problems.budget import Budget
from loadstone.problems.facts import Facts
from loadstone.problems.grouped import grouped
from loadstone.problems.instance import write_instance
from loadstone.problems.instance_files import read_instance
from loadstone.problems.listwise import listwise
from loadstone.problems.loss import mean_loss
from loadstone.problems.padded import padded
from loadstone.problems.spread import spread
from loadstone.problems.spread_streams import spread_decoupled, spread_original
from loadstone.proofs.certificate import write_proof
from loadstone.solvers.conflict import conflict_in
from loadstone.solvers.decide import ProofLimits
from loadstone.solvers.gradient import Paper
from loadstone.solvers.hebbian import hebbian
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.solve import solve, solve_batch
from loadstone.theory import (
    answers,
    capacity,
    codimension,
    families,
    finite_margin,
    load,
    margin,
    minimiser,
    prediction,
    skew,
    spectra,
    storable,
)
from loadstone.theory import listwise as lists

#: Values that hardly any argument takes.
WRONG = {
    "None": None, "a word": "a word", "nothing": "", "nan": float("nan"), "infinity": float("inf"), "-1": -1, "0": 0,
    "1.5": 1.5, "2**70": 2**70, "-1e300": -1e300, "True": True, "complex": 1j, "a list": [1, 2, 3],
    "lists of two lengths": [[1, 2], [3]], "words": ["a", "b"], "an object": object(), "a class": int, "a dict": {},
    "bytes": b"bytes", "no numbers": np.array([]), "numbers": np.arange(3.0), "a cube": np.ones((2, 2, 2)),
    "objects": np.array([None, {}], object), "int8": np.int8(-3), "float16": np.float16("nan"),
    "bool_": np.bool_(True), "datetime64": np.datetime64("2020-01-01"), "a day": datetime.date(2020, 1, 1),
    "masked": np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], [[0, 1], [0, 0]]), "a function": abs,
    "a path": Path("no such file"), "a set": {1, 2}, "complex numbers": np.ones((2, 2), complex),
    "dates": np.array(["2020-01-01"], "datetime64[D]"), "many digits": 10**5000,
}  # fmt: skip
#: Classes that hold what the package itself found out; nobody makes them. Abstract classes and numbers.
NOT_CALLED = set(
    "Measurement NoisyAccuracy Scores SingleScores Verdict Outcome Check Conflict MaximumMargin Solution Status "
    "Sampled Prediction FactsPrediction InstanceCapacity StatisticalDimension Minimiser Spectrum Book Spread Recall "
    "Memory Problem Subspace Iterative Solver HEBBIAN_CAPACITY".split()
)


#: Arguments that may be the name of a file, which a refusal then names.
FILES = {"path", "pairs", "vectors", "checkpoint"}


@cache
def calls() -> dict[str, tuple[Callable, dict[str, Any]]]:
    """Every public name that is called, and arguments that it takes. Files are written to the present folder."""
    stream = loadstone.Stream(0, 4)
    problem, instance = loadstone.original(stream, 6), loadstone.Instance(stream, 6)
    memory, arrays, room = loadstone.initial_memory(4), instance.arrays(), families.statistical_dimension("full", 4)
    verdict = loadstone.decide(arrays)
    loadstone.save("memory.safetensors", memory)
    instance.write("instance.npz")
    write_proof("proof.npz", arrays, verdict=verdict)
    pairs, vectors = [("a", "b"), ("b", "c"), ("c", "a")], dict(zip("abc", np.eye(3)))
    book = loadstone.remember(pairs, vectors)
    book.save("book.safetensors")
    small = {"limits": loadstone.Limits(passes=20)}
    entries = (
        (loadstone.remember, {"pairs": pairs, "vectors": vectors, "columns": ("subject", "object"), "phrases": "mean",
                              "seconds": 1.0, "family": "full"}),
        (loadstone.measure, {"problem": problem, "memory": memory}),
        (loadstone.initial_memory, {"d": 4, "kappa": 1.0, "seed": 0, "family": "full"}),
        (loadstone.memory, {"pytree": {"w": np.eye(4)}, "queries": lambda it, inputs: inputs @ it["w"], "fixed": ()}),
        (loadstone.decoupled, {"stream": stream, "p": 6, "budget": None, "hold": "auto", "dtype": "float32",
                               "answers": 3, "frequencies": "uniform"}),
        (loadstone.facts, {"inputs": np.eye(2), "outputs": np.eye(2), "targets": [0, 1], "shares": [1, 1], "block": 1}),
        (loadstone.Instance, {"stream": stream, "p": 6, "kind": "original", "answers": 3, "frequencies": "uniform"}),
        (loadstone.original, {"stream": stream, "p": 6, "budget": None, "block": 2, "answers": 3,
                              "frequencies": "uniform"}),
        (loadstone.decide, {"instance": instance, "limits": ProofLimits(), "start": np.eye(4), "progress": None,
                            "seconds": 1.0, "family": "full"}),
        (loadstone.maximum_margin, {"instance": instance, "tolerance": 0.1, "passes": 10}),
        (loadstone.train, {"problem": problem, "memory": memory, "solver": LBFGS(), "stop": None,
                           "limits": small["limits"], "precision": "auto", "progress": None, "checkpoint": None}),
        (loadstone.Limits, {"passes": 5, "seconds": 1.0}),
        (loadstone.sample, {"instance": loadstone.Instance(stream, 2), "chains": 2, "steps": 2, "seed": 0,
                            "family": "full", "method": "reflections", "with_volume": False, "progress": None}),
        (loadstone.Stream, {"seed": 0, "d": 4, "law": "gaussian"}),
        (loadstone.exact_capacity, {"instance": loadstone.Instance(loadstone.Stream(0, 2), 2), "limits": ProofLimits(),
                                    "progress": None, "family": "full"}),
        (loadstone.predict, {"d": 4, "facts": 6, "load": None, "kappa": 1.0, "answers": 3, "family": "full",
                             "decoupled": False, "margin": 0.0, "frequencies": "uniform"}),
        (loadstone.load, {"path": "memory.safetensors"}),
        (loadstone.save, {"path": "again.safetensors", "memory": memory, "about": {"seed": 0}}),
        (loadstone.open, {"path": "book.safetensors"}),
        (loadstone.check, {"path": "proof.npz", "instance": arrays}),
        (measured_noisy_accuracy, {"instance": instance, "memory": memory, "noise": 0.1, "draws": 2, "seed": 0}),
        (predicted_noisy_accuracy, {"instance": instance, "memory": memory, "noise": 0.1}),
        (scores, {"problem": problem, "memory": memory, "most": 10}),
        (single_scores, {"problem": problem, "memory": memory, "row": 0, "unit": 1.0}),
        (singular_values, {"memory": memory}),
        (subspace_of, {"family": "blocks:2", "d": 4, "seed": 0}),
        (Full, {"weights": np.eye(4)}),
        (LowRank, {"left": np.ones((4, 2)), "right": np.ones((4, 2))}),
        (Projected, {"weights": np.eye(4), "subspace": Blocks(2)}),
        (recall_index, {"memory": memory, "inputs": np.eye(4), "outputs": np.eye(4)}),
        (Given, {"basis": np.eye(4)[None]}),
        (Masked, {"mask": np.eye(4, dtype=bool)}),
        (Arrays, {"inputs": np.eye(4), "outputs": np.eye(4), "targets": np.arange(4)}),
        (Budget, {"bytes": 10**9}),
        (Facts, {"inputs": problem.inputs, "outputs": problem.outputs, "targets": problem.targets, "block": 1,
                 "description": "", "shares": None, "given": None, "isotropic": False}),
        (grouped, {"stream": stream, "p": 6, "groups": 2, "budget": None, "answers": 3, "frequencies": "uniform"}),
        (write_instance, {"path": "instance.npz", "kind": "original", "stream": stream, "p": 6, "answers": 3,
                          "frequencies": "uniform"}),
        (read_instance, {"path": "instance.npz"}),
        (listwise, {"problem": problem, "rivals": 2}),
        (mean_loss, {"problem": problem, "memory": memory, "precision": "float32"}),
        (padded, {"longer": problem, "p": 5}),
        (spread, {"problem": problem, "devices": 1, "ring": False}),
        (spread_decoupled, {"stream": stream, "p": 6, "devices": 1, "budget": None, "hold": "auto", "dtype": "float32",
                            "answers": 3, "frequencies": "uniform"}),
        (spread_original, {"stream": stream, "p": 6, "devices": 1, "budget": None, "answers": 3,
                           "frequencies": "uniform", "ring": None}),
        (write_proof, {"path": "proof.npz", "arrays": arrays, "verdict": verdict, "about": None}),
        (conflict_in, {"instance": instance, "verdict": None, "seconds": 1.0, "family": "full"}),
        (ProofLimits, {"steps": 5, "budget": None, "seconds": 1.0}),
        (Paper, {"learning_rate": 0.01, "steps": 10, "warmup": 2}),
        (hebbian, {"problem": problem}),
        (solve, {"problem": problem, "memory": memory, "solver": LBFGS(), "stop": None, "limits": small["limits"],
                 "precision": "auto", "progress": None, "checkpoint": None}),
        (solve_batch, {"problems": [problem], "memories": [memory], "solver": LBFGS(), "stop": None,
                       "limits": small["limits"], "precision": "auto", "progress": None}),
        (answers.facts_capacity, {"family": "full", "d": 4, "answers": 3, "decoupled": False, "margin": 0.0}),
        (answers.memories_seen, {"family": "full", "d": 4, "answers": 3, "decoupled": False}),
        (capacity.asymptotic_capacity_associations, {"d": 4, "kappa": 1.0}),
        (capacity.bits_per_parameter, {"p": 6, "d": 4, "kappa": 1.0, "content": "pairing"}),
        (capacity.capacity, {"kappa": 1.0}),
        (capacity.capacity_associations, {"d": 4, "kappa": 1.0}),
        (capacity.finite_capacity, {"p": 6, "kappa": 1.0}),
        (capacity.hebbian_associations, {"d": 4}),
        (codimension.codimension, {"answers": 3, "margin": 0.0}),
        (codimension.margin_codimension, {"answers": 3, "margin": 0.0}),
        (families.statistical_dimension, {"family": "full", "d": 4, "directions": 2}),
        (finite_margin.finite_largest_margin, {"d": 4, "facts": 6, "answers": 3, "inputs": "gaussian",
                                               "outputs": "gaussian", "samples": 16, "seed": 0}),
        (lists.list_capacity, {"d": 4, "k": 2, "batches": 2}),
        (lists.list_codimension, {"answers": 6, "k": 2, "batches": 2}),
        (load.associations, {"load": 0.5, "d": 4}),
        (load.dimension, {"load": 0.5, "p": 6}),
        (load.nearest_associations, {"load": 0.5, "d": 4}),
        (load.nearest_dimension, {"load": 0.5, "p": 6}),
        (margin.largest_margin, {"delta": 16.0, "facts": 6, "answers": 3}),
        (margin.margin_capacity, {"delta": 16.0, "answers": 3, "margin": 0.1}),
        (minimiser.minimiser, {"p": 20, "d": 4, "samples": 1024, "seed": 0, "answers": 3, "delta": 16.0}),
        (prediction.predict_facts, {"d": 4, "facts": 6, "answers": 3, "family": "full", "decoupled": False,
                                    "margin": 0.0, "frequencies": "uniform"}),
        (skew.random_target_capacity, {"d": 4, "frequencies": [1, 1], "draws": 2, "samples": 100, "seed": 0}),
        (skew.skewed_capacity, {"d": 4, "frequencies": [1, 2], "samples": 100, "seed": 0}),
        (spectra.at_capacity, {"kappa": 1.0}),
        (spectra.initial_factored, {"kappa": 1.0}),
        (spectra.initial_full, {}),
        (spectra.quarter_circle, {}),
        (storable.facts_interval, {"answers": 3, "memories": room, "share": 0.9}),
        (storable.probability_facts_storable, {"facts": 6, "answers": 3, "memories": room}),
        (storable.probability_storable, {"p": 6, "d": 4}),
        (storable.storable_interval, {"d": 4, "share": 0.9}),
    )  # fmt: skip
    return {f"{call.__module__}.{call.__qualname__}": (call, given) for call, given in entries}


def wrong_calls() -> Iterator[tuple[str, str, str]]:
    """Every function, each of its arguments, and a value for it, in words."""
    for function, (_, given) in calls().items():
        yield from ((function, name, value) for name in given for value in WRONG)


def answer(function: str, name: str, value: str) -> str | None:
    """What a call says that neither works nor names the argument that is wrong; None if it does one of these."""
    call, given = calls()[function]
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            call(**given | {name: WRONG[value]})
    except (ValueError, TypeError, OSError) as error:
        text = str(error)
        named = re.search(rf"\b{name}\b", text) and "\n" not in text and len(text) < 1000
        names_file = name in FILES and isinstance(WRONG[value], str | Path) and str(WRONG[value]) in text
        return None if named or names_file else f"{type(error).__name__}: {text}"
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return None
