"""Does this device give the same bits and the same numbers as a CPU?

    python benchmarks/device_check.py [PART ...]

Prints the digests of a few instances, which must be equal on every machine, and trains a small problem. If the default
device is not a CPU, the same arrays are also made on the CPU of the same machine and compared bit for bit. Passes over
regenerated outputs make them with code of their own, so single components are read through a pass and compared, too.
Passes in float16 over shared outputs are compared with float64 at awkward sizes, with fresh numbers each, and so are
gradients; a perfect memory must have slopes of exactly zero. On a GPU most of the time goes into compiling, some three
minutes for all parts: each part is printed as soon as it is known, and several processes can share the parts.
"""

from __future__ import annotations

import hashlib
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

import loadstone
from loadstone.problems.loss import mean_loss
from loadstone.problems.padded import padded
from loadstone.streams.embeddings import decoupled_vectors


def digest(*arrays) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()[:16]


def instances() -> dict[str, str]:
    """Digests of inputs, shared and decoupled outputs, for each law."""
    found = {}
    for law in ("gaussian", "sphere", "rademacher"):
        for d, p in ((1, 9), (50, 300), (101, 1000)):
            stream = loadstone.Stream(seed=12345, d=d, law=law)
            found[f"{law} d={d} p={p}"] = digest(
                stream.inputs(p), stream.outputs(p), stream.decoupled_targets(p), stream.decoupled_outputs(3, 5, p)
            )
    return found


def regenerated_exactly(d: int, p: int) -> bool:
    """Whether a pass over regenerated outputs sees the stream's numbers: the score of an output with a unit vector is
    one of its components."""
    problem = loadstone.decoupled(loadstone.Stream(12345, d), p, hold="regenerated")
    row, unit = np.arange(p), np.arange(p) * 7 % d
    found = problem.recall(jnp.eye(d, dtype=jnp.float32)[unit])
    outputs = decoupled_vectors(problem.key, jnp.arange(p, dtype=jnp.uint32), p, d, "gaussian")
    component = np.asarray(outputs)[row, unit]
    target = component[row, row]
    component[row, row] = -np.inf
    return bool((found.target == target).all() and (found.rival == component.max(axis=1)).all())


#: Queries, outputs, components, and how many of the facts count. On a Hopper GPU there are kernels for up to 256, up to
#: 512 and more components, with blocks of 64 and 128 queries.
AWKWARD = (
    (2, 2, 3, None), (63, 63, 130, None), (64, 64, 256, None), (65, 65, 257, None), (2, 2, 320, None),
    (1000, 777, 301, None), (9000, 9000, 300, 7001), (900, 900, 500, 513), (12000, 9000, 513, None),
)  # fmt: skip


#: Of these with long queries, as late in a search: some kernels guess how large scores are, and guess badly there.
WITH_LONG_QUERIES = AWKWARD[5:]


def error_of_pass(n: int, m: int, d: int, count: int | None, length: float = 3.0) -> float:
    """The largest error of target, rival, log-sum-exp and pull, each relative to one plus its size."""
    random = np.random.default_rng()
    queries = (length * random.standard_normal((n, d)) / np.sqrt(d)).astype(np.float16)
    outputs = random.standard_normal((m, d)).astype(np.float16)
    rows, columns = (n, m) if count is None else (count, count)
    targets = np.arange(n) if count is not None else random.integers(0, m, n)
    single = [part.astype(np.float32) for part in (queries, outputs)]
    problem = loadstone.facts(*single, targets=targets)
    if count is not None:
        problem = padded(problem, count)
    found = problem.recall(jnp.asarray(single[0]), "float16")
    scores = queries[:rows].astype(np.float64) @ outputs[:columns].astype(np.float64).T
    place = np.arange(rows), targets[:rows]
    target, top = scores[place].copy(), scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(axis=1, keepdims=True)
    scores[place] = -np.inf
    pull = weights / total @ outputs[:columns]
    exact = target, scores.max(axis=1), (top + np.log(total))[:, 0], pull
    return max(float(np.max(np.abs(one[:rows] - all_of) / (1 + np.abs(all_of)))) for one, all_of in zip(found, exact))


def largest_slope_of_a_perfect_memory(d: int) -> float:
    """Of facts whose rivals have no weight at all, so that it must be zero to the last bit."""
    outputs = (16 * np.eye(d) + np.diag(np.linspace(0, 1, d))).astype(np.float16).astype(np.float32)
    problem = loadstone.facts(outputs, outputs, targets=np.arange(d))
    slopes_of = jax.jit(lambda problem, queries: problem.slopes(queries, "float16")[1])
    return float(jnp.abs(slopes_of(problem, outputs)).max())


def error_of_step(d: int, p: int, kappa: float) -> float:
    """Of the gradient that a search in float16 makes, in the norm, against float64."""
    problem = loadstone.original(loadstone.Stream(1, d), p)
    memory = jax.tree.map(lambda part: 3 * d ** (1 - kappa / 2) / 4 * part, loadstone.initial_memory(d, kappa, seed=1))
    loss_of = lambda memory, problem: mean_loss(problem.prepared("float16"), memory, precision="float16")[0]  # noqa: E731
    found = jax.jit(jax.grad(loss_of))(memory, problem)
    inputs, outputs = (np.asarray(part, np.float64) for part in (problem.inputs, problem.outputs))
    scores = inputs @ np.asarray(memory.matrix(), np.float64).T @ outputs.T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    slopes = weights / weights.sum(axis=1, keepdims=True) @ outputs - outputs
    exact = slopes.T @ inputs / p
    if kappa == 1:
        return float(np.linalg.norm(found.weights - exact) / np.linalg.norm(exact))
    left = exact @ np.asarray(memory.right, np.float64)
    return float(np.linalg.norm(found.left - left) / np.linalg.norm(left))


def same_bits() -> dict[str, object]:
    here = instances()
    found: dict[str, object] = {"instances": here}
    if jax.default_backend() != "cpu":
        with jax.default_device(jax.devices("cpu")[0]):
            jax.clear_caches()
            found["equal to the CPU of this machine"] = instances() == here
        jax.clear_caches()
    # On a GPU the kernel has tiles of 8, 8, 2 and 1 outputs, the last for two warps.
    return found | {"regenerated exactly": {d: regenerated_exactly(d, 100) for d in (9, 150, 500, 2000)}}


def passes() -> dict[str, object]:
    return {"error of passes in float16": {str(sizes): error_of_pass(*sizes) for sizes in AWKWARD}}


def long_queries() -> dict[str, object]:
    found = {str(sizes): error_of_pass(*sizes, length=40.0) for sizes in WITH_LONG_QUERIES}
    return {"error of passes in float16 with long queries": found}


def steps() -> dict[str, object]:
    slopes = {d: largest_slope_of_a_perfect_memory(d) for d in (40, 300, 500, 600)}
    sizes = ((100, 1000, 1.0), (100, 1000, 0.5), (300, 3000, 1.0), (300, 3000, 0.25), (500, 3000, 0.5))
    errors = {str(one): error_of_step(*one) for one in sizes}
    return {"largest slope of a perfect memory in float16": slopes, "error of steps in float16": errors}


def training() -> dict[str, object]:
    found = {}
    for make in (loadstone.original, loadstone.decoupled):
        problem = make(loadstone.Stream(0, 50), 306)
        solution = loadstone.train(problem, loadstone.initial_memory(50, 1.0, seed=0))
        measured = loadstone.measure(problem, solution.memory)
        found[problem.description] = {"steps": solution.steps, "status": solution.status, **vars(measured)}
    return found


PARTS = {part.__name__: part for part in (same_bits, passes, long_queries, steps, training)}


def main() -> None:
    asked = sys.argv[1:] or list(PARTS)
    if unknown := set(asked) - set(PARTS):
        sys.exit(f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}.")
    print(json.dumps({"device": jax.devices()[0].device_kind, "jax": jax.__version__}), flush=True)
    for name in asked:
        print(json.dumps(PARTS[name](), indent=1), flush=True)


if __name__ == "__main__":
    main()
