"""One training step on a GPU: loadstone beside PyTorch eager and `torch.compile`, with the ceilings of the same card.

    python benchmarks/gpu.py --out benchmarks/gpu.json

All sides take turns in one process. A round is 32 steps, or a few where they are long; a short search of ours does as
many as before it returns to Python. Ratios are formed within a round, and their medians are reported. Operations are
counted as 4 p^2 d a pass for the original problem, bytes as one read of the outputs for the decoupled one, whatever a
side really does. A step is a pass, the products around it, and Adam. The ceilings are a large float16 product and a
large copy. --small only shows that the script runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time

# PyTorch needs memory on the same card.
os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.3")

import jax
import jax.numpy as jnp
import numpy as np

from loadstone.compiling import compiled_loop
from loadstone.loads import nearest_associations
from loadstone.memories.families import initial_memory
from loadstone.problems.decoupled import decoupled
from loadstone.problems.original import original
from loadstone.solvers.gradient import Paper
from loadstone.solvers.loop import advance_one, begun
from loadstone.solvers.search import Program, in_precision
from loadstone.solvers.solver import automatic_precision
from loadstone.streams.stream import Stream

#: name: problem, d, load, how outputs are held, bytes of a stored output.
CASES = {
    "original, d = 128": ("original", 128, 0.7, "auto", 4),
    "original, d = 256": ("original", 256, 0.7, "auto", 4),
    "original, d = 300": ("original", 300, 0.7, "auto", 4),
    "original, d = 500": ("original", 500, 0.7, "auto", 4),
    "decoupled, stored in float32, d = 150": ("decoupled", 150, 0.7, "stored", 4),
    "decoupled, stored in float16, d = 150": ("decoupled", 150, 0.7, "stored", 2),
    "decoupled, regenerated, d = 150": ("decoupled", 150, 0.7, "regenerated", 0),
    "original, d = 1024": ("original", 1024, 0.7, "auto", 4),
    "original, d = 2048": ("original", 2048, 0.4, "auto", 4),
    "original, d = 4096": ("original", 4096, 0.1, "auto", 4),
}
#: PyTorch's fused attention takes values of at most so many components.
MOST_ATTENTION = 256
ATTENTION = "torch attention (pull alone)"
ROUNDS = 7
#: Steps of a round, and from how many operations a step is long.
STEPS, FEW_STEPS, LONG = 32, 4, 10**13
#: Steps of a search before it returns to Python, and up to how many operations a step is short.
SEARCH, SHORT = 512, 10**12


def steps_of(p: int, d: int, side: str = "") -> int:
    operations = 4 * p * p * d
    if side == "ours" and operations <= SHORT:
        return SEARCH
    return FEW_STEPS if operations > LONG else STEPS


def seconds_of(work, steps: int) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) / steps


def make(kind: str, d: int, p: int, hold: str, size: int):
    if kind == "original":
        return original(Stream(0, d), p)
    return decoupled(Stream(0, d), p, hold=hold, dtype="float16" if size == 2 else "float32")


def ours(problem, d: int, steps: int):
    """A round of steps of the compiled training loop, from the same start each time."""
    precision = automatic_precision()
    (problem,) = in_precision([problem], precision)
    program = Program(Paper(steps=10**6), "none", precision, steps + 1, False)
    start = begun(initial_memory(d, 1.0, seed=0), program)
    return lambda: jax.block_until_ready(advance_one(problem, start, jnp.int32(steps), program))


def ours_pass(problem, d: int, steps: int):
    """The pass alone."""
    recall = compiled_loop(lambda problem, queries: problem.recall(queries, automatic_precision()))
    queries = problem.inputs / d

    def work():
        for _ in range(steps):
            found = recall(problem, queries)
        jax.block_until_ready(found)

    return work


def torch_sides(problem, kind: str, d: int, steps: int) -> dict:
    """The same steps as a user of PyTorch would write them, products in float16 under autocast."""
    import torch
    import torch.nn.functional as F  # noqa: N812

    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs = torch.tensor(np.asarray(problem.inputs), device=device)
    if kind == "original":
        outputs = torch.tensor(np.asarray(problem.outputs), device=device)
    else:
        parts = [torch.tensor(np.asarray(part), device=device) for part in problem.parts]
        outputs = torch.cat(parts).transpose(1, 2)
    targets = torch.arange(len(inputs), device=device)
    weights = torch.tensor(np.asarray(initial_memory(d, 1.0, seed=0).weights), device=device, requires_grad=True)
    optimiser = torch.optim.Adam([weights], lr=1e-2)
    half = torch.float16 if device == "cuda" else torch.bfloat16
    decoupled_outputs = kind == "decoupled"

    def loss_of(weights):
        with torch.autocast(device, dtype=half, enabled=not decoupled_outputs):
            queries = inputs @ weights.T
            if decoupled_outputs:
                scores = torch.bmm(outputs, queries[:, :, None].to(outputs.dtype))[:, :, 0].float()
            else:
                scores = queries @ outputs.T
        return F.cross_entropy(scores.float(), targets)

    def round_of(function):
        def work():
            for _ in range(steps):
                optimiser.zero_grad()
                function(weights).backward()
                optimiser.step()
            if device == "cuda":
                torch.cuda.synchronize()

        return work

    sides = {"torch eager": round_of(loss_of), "torch.compile": round_of(torch.compile(loss_of))}
    if not decoupled_outputs and d <= MOST_ATTENTION:
        # The pull alone, without the target's score, the rival and the loss: what fused attention is made for.
        halves = [part.half()[None, None] for part in (inputs / d, outputs, outputs)]

        def attention():
            for _ in range(steps):
                F.scaled_dot_product_attention(*halves, scale=1.0)
            if device == "cuda":
                torch.cuda.synchronize()

        sides[ATTENTION] = attention
    return sides


def ceilings(small: bool) -> dict[str, float]:
    side, length = (512, 10**6) if small else (8192, 2**30)
    matrix = jax.random.normal(jax.random.key(0), (side, side), jnp.float16)
    vector = jax.random.normal(jax.random.key(1), (length,), jnp.float32)
    product = jax.jit(lambda a: jnp.matmul(a, a, preferred_element_type=jnp.float32))
    copy = jax.jit(lambda a: a + 1)

    def rate(work, operand, amount: float) -> float:
        jax.block_until_ready(work(operand))
        found = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            for _ in range(STEPS):
                result = work(operand)
            jax.block_until_ready(result)
            found.append(amount * STEPS / (time.perf_counter() - began))
        return statistics.median(found) / 1e12

    return {
        "TFLOP/s of a float16 product": rate(product, matrix, 2.0 * side**3),
        "TB/s of a copy": rate(copy, vector, 8.0 * length),
    }


def compare(name: str, small: bool, ceiling: dict[str, float]) -> dict[str, object]:
    kind, d, load, hold, size = CASES[name]
    d = 20 if small else d
    p = nearest_associations(load, d)
    problem = make(kind, d, p, hold, size)
    steps, search = steps_of(p, d), steps_of(p, d, "ours")
    sides = {"ours": ours(problem, d, search), "our pass": ours_pass(problem, d, steps)}
    if hold != "regenerated":
        sides |= torch_sides(problem, kind, d, steps)
    result: dict[str, object] = {"case": name, "p": p, "precision": automatic_precision()}
    result |= {"steps of a round": steps, "of ours": search}
    for side, work in list(sides.items()):
        try:
            work()
        except RuntimeError as error:  # PyTorch keeps all scores
            result[side] = str(error).split(".")[0]
            del sides[side]
    rounds = [{side: seconds_of(work, steps_of(p, d, side)) for side, work in sides.items()} for _ in range(ROUNDS)]
    result |= {f"{side}, ms a step": 1e3 * statistics.median(one[side] for one in rounds) for side in sides}
    for side in sides:
        if side not in ("ours", "our pass"):
            beside = "our pass" if side == ATTENTION else "ours"
            result[f"{side} / {beside}"] = statistics.median(one[side] / one[beside] for one in rounds)
    numbers = p * p * d
    for side in ("ours", "our pass"):
        seconds = result[f"{side}, ms a step"] * 1e-3
        if kind == "original":
            rate = 4 * numbers / seconds / 1e12
            share = {"share of the product": rate / ceiling["TFLOP/s of a float16 product"]}
            found = {"TFLOP/s": rate} | share
        elif size:
            rate = size * numbers / seconds / 1e12
            found = {"TB/s": rate, "share of the copy": rate / ceiling["TB/s of a copy"]}
        else:
            found = {"G normals/s": numbers / seconds / 1e9}
        result |= {f"{side}, {name}": value for name, value in found.items()}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", help="file for the results (JSON)")
    parser.add_argument("--small", action="store_true", help="tiny sizes, only to see that it runs")
    parser.add_argument("--cases", nargs="*", default=list(CASES), help="some of the cases")
    arguments = parser.parse_args()
    found = {"device": jax.devices()[0].device_kind, "jax": jax.__version__, "ceilings": ceilings(arguments.small)}
    print(found, flush=True)
    found["cases"] = []
    for name in arguments.cases:
        found["cases"].append(compare(name, arguments.small, found["ceilings"]))
        print(found["cases"][-1], flush=True)
        if arguments.out:  # after every case, in case that time runs out
            with open(arguments.out, "w") as file:
                json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
