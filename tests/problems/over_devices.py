"""Run by test_spread.py in processes of their own, which have several devices; the answer is a JSON object.

python -m tests.problems.over_devices CASE...                            problems whole and over devices
python -m tests.problems.over_devices --join COORDINATOR PROCESS [FILE]  one of two processes; with a file, a search
"""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

import loadstone
from loadstone import decoupled, original
from loadstone.hosts import agreed, join
from loadstone.problems.budget import Budget
from loadstone.problems.loss import mean_loss
from loadstone.problems.padded import padded
from loadstone.problems.spread import spread
from loadstone.problems.spread_streams import spread_decoupled, spread_original
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits

# Neither p nor the number of answers is a multiple of the devices, and of 5 answers the fourth device has none.
STREAM, P, ANSWERS = loadstone.Stream(0, 6), 13, 5
SHARES = np.arange(1, P + 1)

CASES = {
    "original": lambda: (original(STREAM, P), spread_original(STREAM, P, devices=4)),
    "ring": lambda: (original(STREAM, P), spread_original(STREAM, P, devices=4, ring=True)),
    "ring with answers": lambda: (
        original(STREAM, P, answers=ANSWERS), spread_original(STREAM, P, devices=4, answers=ANSWERS, ring=True)
    ),
    "three devices, with shares": lambda: _both(original(STREAM, P).weighted(SHARES), 3),
    "stored": lambda: (decoupled(STREAM, P), spread_decoupled(STREAM, P, devices=4, hold="stored")),
    "regenerated": lambda: (
        decoupled(STREAM, P, hold="regenerated"), spread_decoupled(STREAM, P, devices=4, hold="regenerated")
    ),
    "decoupled with answers": lambda: (
        decoupled(STREAM, P, answers=ANSWERS), spread_decoupled(STREAM, P, devices=4, answers=ANSWERS)
    ),
    "stored, cut": lambda: _both(decoupled(STREAM, P, hold="stored").weighted(SHARES), 4),
    "regenerated, cut": lambda: _both(decoupled(STREAM, P, hold="regenerated"), 4),
    "decoupled with answers, cut": lambda: _both(decoupled(STREAM, P, answers=ANSWERS), 4),
}  # fmt: skip


def _both(problem, devices):
    return problem, spread(problem, devices)


@jax.jit
def measured(problem, memory):
    return jax.value_and_grad(lambda memory: mean_loss(problem, memory), has_aux=True, allow_int=True)(memory)


def start():
    """A memory with scores of order one."""
    return jax.tree.map(lambda part: 3 * part, loadstone.initial_memory(6, 0.5, seed=0))


def compared(whole, parts, gradient=True):
    """How far apart the passes of both are, and the gradients, if wanted, which take longest to compile."""
    memory, mine, theirs = start(), whole.arrays(), parts.arrays()
    queries = memory.queries(parts.inputs)
    recall, recall_of_parts = whole.recall(queries[:P]), parts.recall(queries)
    bits = (np.array_equal(getattr(mine, name), getattr(theirs, name)) for name in ("inputs", "outputs", "targets"))
    scores, scores_of_parts = (one.scores(queries[:3], jnp.arange(3)) for one in (whole, parts))
    answer = {
        "same bits": all(bits) and bool((parts.target_outputs[:P] == whole.target_outputs).all()),
        "padding": [float(np.abs(parts.inputs[P:]).sum()), bool(recall_of_parts.stored[P:].all())],
        "shares": None if parts.shares is None else np.asarray(parts.shares).tolist(),
        "apart": [float(np.abs(one[:P] - other).max()) for one, other in zip(recall_of_parts, recall)],
        "scores": float(np.abs(scores - scores_of_parts).max()),
        "counts": [int(parts.associations), parts.competitors, parts.inputs.addressable_shards[0].data.shape[0]],
        "violations": [int((~one.stored).sum()) for one in (recall, recall_of_parts)],
        "description": parts.description,
    }
    if gradient:
        ((loss, _), exact), ((loss_of_parts, recall), slope) = (measured(problem, memory) for problem in (whole, parts))
        pairs = [*zip(*map(jax.tree.leaves, (exact, slope)))]
        answer |= {
            "loss": [float(loss), float(loss_of_parts)],
            "violations": [answer["violations"][0], int((~recall.stored).sum())],
            "gradient": max(float(np.abs(one - other).max()) for one, other in pairs),
            "largest": max(float(np.abs(one).max()) for one, _ in pairs),
        }
    return answer


def refusal(call):
    try:
        call()
    except ValueError as error:
        return str(error)


def refusals():
    problem = original(STREAM, P)
    return {
        "five": refusal(lambda: solve(problem, devices=5)),
        "none": refusal(lambda: spread(problem, 0)),
        "true": refusal(lambda: spread_decoupled(STREAM, P, devices=True)),
        "padded": refusal(lambda: spread(padded(problem, 10), 2)),
        "ring": refusal(lambda: spread(decoupled(STREAM, P), 2, ring=True)),
        "blocks": refusal(lambda: solve(problem, solver="minibatch:2", devices=2)),
        "budget": refusal(lambda: spread_original(STREAM, P, devices=4, budget=Budget(100))),
        "again": refusal(lambda: spread(spread(problem, 2), 2)),
    }


def solved(devices, checkpoint=None):
    """Adam, because its programs compile fastest; every solver sees the same numbers."""
    problem = spread_original(STREAM, P, devices=devices) if devices else original(STREAM, P)
    found = solve(problem, solver="adam", stop="none", limits=Limits(passes=4), checkpoint=checkpoint)
    measurement = loadstone.measure(problem, found.memory)
    return {"loss": found.loss.tolist(), "violations": measurement.violations, "margin": measurement.margin}


def one_of_two(coordinator, process, checkpoint=None):
    join(coordinator, 2, int(process))
    (loss, recall), _ = measured(spread_original(STREAM, P, devices=4, ring=True), start())
    found = {"devices": len(jax.devices()), "here": jax.local_device_count()}
    found["agreed"] = agreed(10 + jax.process_index())
    found |= {"loss": float(loss), "violations": int((~recall.stored).sum())}
    return found | ({"search": solved(4, checkpoint)} if checkpoint else {})


if __name__ == "__main__":
    if sys.argv[1] == "--join":
        answer = one_of_two(*sys.argv[2:])
    else:
        answer = {"cases": {name: compared(*CASES[name]()) for name in sys.argv[1:]}, "refusals": refusals()}
        answer["passes"] = {name: compared(*CASES[name](), gradient=False) for name in CASES if name not in sys.argv}
    print(json.dumps(answer))
