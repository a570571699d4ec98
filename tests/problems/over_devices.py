"""Run by test_spread.py in a process that has four devices: one problem whole and over devices, as a JSON object.

    python -m tests.problems.over_devices [COORDINATOR PROCESS]
"""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

import loadstone
from loadstone import decoupled, original, spread, spread_decoupled, spread_original
from loadstone.hosts import join
from loadstone.problems.loss import mean_loss
from loadstone.solvers.stop import Limits

# Neither p nor the number of answers is a multiple of the devices, and of 5 answers the fourth device has none.
STREAM, P, ANSWERS = loadstone.Stream(0, 6), 13, 5
SHARES = np.arange(1, P + 1)

CASES = {
    "original": lambda: (original(STREAM, P), spread_original(STREAM, P, 4)),
    "ring": lambda: (original(STREAM, P), spread_original(STREAM, P, 4, ring=True)),
    "ring with answers": lambda: (
        original(STREAM, P, answers=ANSWERS), spread_original(STREAM, P, 4, answers=ANSWERS, ring=True)
    ),
    "three devices, with shares": lambda: _both(original(STREAM, P).weighted(SHARES), 3),
    "stored": lambda: (decoupled(STREAM, P), spread_decoupled(STREAM, P, 4, hold="stored")),
    "regenerated": lambda: (
        decoupled(STREAM, P, hold="regenerated"), spread_decoupled(STREAM, P, 4, hold="regenerated")
    ),
    "decoupled with answers": lambda: (
        decoupled(STREAM, P, answers=ANSWERS), spread_decoupled(STREAM, P, 4, answers=ANSWERS)
    ),
}  # fmt: skip


def _both(problem, devices):
    return problem, spread(problem, devices)


@jax.jit
def measured(problem, memory):
    return jax.value_and_grad(lambda memory: mean_loss(problem, memory), has_aux=True, allow_int=True)(memory)


def compared(whole, parts):
    memory = loadstone.initial_memory(6, 0.5, 0)
    memory = jax.tree.map(lambda part: 3 * part, memory)  # scores of order one
    ((loss, recall), gradient), ((loss_of_parts, recall_of_parts), gradient_of_parts) = (
        measured(problem, memory) for problem in (whole, parts)
    )
    mine, theirs = whole.arrays(), parts.arrays()
    queries = memory.queries(whole.inputs[:3])
    both = [np.asarray(one.scores(queries, jnp.arange(3))) for one in (whole, parts)]
    return {
        "same bits": all(
            np.array_equal(getattr(mine, name), getattr(theirs, name)) for name in ("inputs", "outputs", "targets")
        ),
        "associations": [int(whole.associations), int(parts.associations)],
        "competitors": [whole.competitors, parts.competitors],
        "loss": [float(loss), float(loss_of_parts)],
        "violations": [int((~one.stored[:P]).sum()) for one in (recall, recall_of_parts)],
        "counted": int((~recall_of_parts.stored).sum()),
        "rivals": float(np.abs(recall.rival - recall_of_parts.rival[:P]).max()),
        "scores": float(np.abs(both[0] - both[1]).max()),
        "gradient": max(
            float(np.abs(one - other).max()) for one, other in zip(*map(jax.tree.leaves, (gradient, gradient_of_parts)))
        ),
        "largest": max(float(np.abs(one).max()) for one in jax.tree.leaves(gradient)),
        "rows of a device": parts.inputs.addressable_shards[0].data.shape[0],
        "description": parts.description,
    }


def refusal(call):
    try:
        call()
    except ValueError as error:
        return str(error)


def refusals():
    problem = original(STREAM, P)
    return {
        "five": refusal(lambda: loadstone.solve(problem, devices=5)),
        "none": refusal(lambda: spread(problem, 0)),
        "true": refusal(lambda: spread_decoupled(STREAM, P, True)),
        "padded": refusal(lambda: spread(loadstone.padded(problem, 10), 2)),
        "ring": refusal(lambda: spread(decoupled(STREAM, P), 2, ring=True)),
        "blocks": refusal(lambda: loadstone.solve(problem, solver="minibatch:2", devices=2)),
        "budget": refusal(lambda: spread_original(STREAM, P, 4, loadstone.Budget(100))),
        "again": refusal(lambda: spread(spread(problem, 2), 2)),
    }


def solved(devices, checkpoint=None):
    """Adam, because its programs compile fastest; every solver sees the same numbers."""
    problem = spread_original(STREAM, P, devices)
    found = loadstone.solve(problem, solver="adam", stop="none", limits=Limits(passes=4), checkpoint=checkpoint)
    measurement = loadstone.measure(problem, found.memory)
    return {"loss": found.loss.tolist(), "violations": measurement.violations, "margin": measurement.margin}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        join(sys.argv[1], 2, int(sys.argv[2]))
        print(json.dumps({"devices": len(jax.devices()), "here": jax.local_device_count(), **solved(4, sys.argv[3])}))
    else:
        found = {name: compared(*case()) for name, case in CASES.items()}
        print(json.dumps({"cases": found, "refusals": refusals(), "solved": solved(4)}))
