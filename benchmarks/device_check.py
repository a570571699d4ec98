"""Does this device give the same bits and the same numbers as a CPU?

Prints the digests of a few instances, which must be equal on every machine, and trains a small problem. If the default
device is not a CPU, the same arrays are also made on the CPU of the same machine and compared bit for bit. Passes over
regenerated outputs make them with code of their own, so single components are read through a pass and compared, too.
"""

from __future__ import annotations

import hashlib
import json

import jax
import jax.numpy as jnp
import numpy as np

import loadstone
from loadstone.problems.embeddings import decoupled_vectors


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


def main() -> None:
    here = instances()
    report = {"device": jax.devices()[0].device_kind, "jax": jax.__version__, "instances": here}
    if jax.default_backend() != "cpu":
        with jax.default_device(jax.devices("cpu")[0]):
            jax.clear_caches()
            report["equal to the CPU of this machine"] = instances() == here
        jax.clear_caches()
    # On a GPU the kernel has tiles of 8, 8, 2 and 1 outputs, the last for two warps.
    report["regenerated exactly"] = {d: regenerated_exactly(d, 100) for d in (9, 150, 500, 2000)}
    for make in (loadstone.original, loadstone.decoupled):
        problem = make(loadstone.Stream(0, 50), 306)
        solution = loadstone.train(problem, loadstone.initial_memory(50, 1.0, 0))
        measured = loadstone.measure(problem, solution.memory)
        report[problem.description] = {"steps": solution.steps, "status": solution.status, **vars(measured)}
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
