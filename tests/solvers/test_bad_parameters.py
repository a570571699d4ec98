"""What a solver or a search cannot do is refused in one sentence: the argument, its value, and what is allowed."""

import numpy as np
import pytest

from loadstone.memories.families import initial_memory
from loadstone.problems.decoupled import decoupled
from loadstone.problems.facts import facts
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.solvers.alternating import Alternating
from loadstone.solvers.gradient import Paper
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.minibatch import Minibatch
from loadstone.solvers.normalised import Normalised
from loadstone.solvers.perceptron import Perceptron
from loadstone.solvers.pruning import Pruning
from loadstone.solvers.registry import solver_of
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits
from loadstone.streams.stream import Stream

NAN = float("nan")
PARAMETERS = [
    (Alternating, {"turn": 0}), (Alternating, {"pairs": 0}), (Alternating, {"tolerance": -1.0}),
    (Alternating, {"whiten": 1}), (LBFGS, {"pairs": 0}), (LBFGS, {"pairs": 1.5}), (LBFGS, {"tolerance": 0}),
    (LBFGS, {"tolerance": NAN}), (LBFGS, {"whiten": "no"}), (LBFGS, {"margin": -1e-3}), (LBFGS, {"margin": NAN}),
    (Paper, {"learning_rate": 0}), (Paper, {"learning_rate": NAN}), (Paper, {"steps": 0}), (Paper, {"warmup": -1}),
    (Paper, {"warmup": 512}), (Minibatch, {"batch": 0}), (Minibatch, {"batch": -1}), (Minibatch, {"batch": 1.5}),
    (Minibatch, {"batch": True}), (Minibatch, {"learning_rate": 0}), (Normalised, {"momentum": 1}),
    (Normalised, {"momentum": -0.1}), (Normalised, {"momentum": "much"}), (Normalised, {"momentum": True}),
    (Normalised, {"momentum": NAN}), (Normalised, {"learning_rate": -1}), (Perceptron, {"batch": -1}),
    (lambda density: Pruning(density, 2), {"density": 0.0}), (lambda density: Pruning(density, 2), {"density": 1.5}),
    (lambda rounds: Pruning(0.5, rounds), {"rounds": 0}), (Limits, {"passes": 0}), (Limits, {"passes": 1.5}),
    (Limits, {"passes": 10**9 + 1}), (Limits, {"seconds": 0.0}), (Limits, {"seconds": NAN}),
]  # fmt: skip


@pytest.mark.parametrize("make, bad", PARAMETERS)
def test_parameters(make, bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))} is .*, but must be"):
        make(**bad)


@pytest.mark.parametrize("text", ["", "sgd:1,2", "paper:rate=1", "hebbian:1", "perceptron:learning_rate=1", 7])
def test_names_of_solvers(text):
    with pytest.raises(ValueError, match="but must be"):
        solver_of(text)


PROBLEM = original(Stream(0, 12), 23)
WEIGHTED = facts(PROBLEM.inputs, PROBLEM.outputs, shares=np.arange(1, 24))
HALF = initial_memory(12, 0.5)
SEARCHES = [
    (PROBLEM, {"stop": "soon"}, "stop is 'soon', but must be one of"),
    (PROBLEM, {"precision": "int8"}, "precision is 'int8', but must be one of"),
    (PROBLEM, {"solver": "adm"}, "solver is 'adm', but must be one of"),
    (PROBLEM, {"solver": "alternating"}, "memory is 'Full', but must be LowRank, whose two factors take turns"),
    (PROBLEM, {"solver": "pruning:0.5,2", "memory": HALF}, "memory is 'LowRank', but must be Full, or masked"),
    (PROBLEM, {"solver": "pruning:0.1,2"}, "density is 0.1, but must be at least 0.1597 at d = 12"),
    (PROBLEM, {"solver": LBFGS(margin=0.01), "memory": initial_memory(12, family="gelu:3")},
     "margin is 'given', but must be left out for TwoLayers"),
    (PROBLEM, {"solver": "perceptron", "precision": "float16"},
     "precision is 'float16', but must be one of float64, float32, split"),
    (PROBLEM, {"solver": "perceptron", "memory": HALF}, "'a LowRank', but must be one whose queries are proportional"),
    (decoupled(Stream(0, 12), 23), {"solver": "minibatch"},
     r"batch is 16, but must be 0 for this problem \(decoupled, outputs stored"),
    (padded(original(Stream(0, 12), 30), 23), {"solver": "perceptron:24"},
     "batch is 24, but must be at most 23, the number of associations"),
    (WEIGHTED, {"solver": "perceptron:2"}, "batch is 2, but must be 0 for a problem with shares"),
]  # fmt: skip


@pytest.mark.parametrize("problem, asked, sentence", SEARCHES)
def test_searches(problem, asked, sentence):
    with pytest.raises(ValueError, match=sentence):
        solve(problem, asked.pop("memory", None), **asked)
