"""Does this device give the same bits and the same numbers as a CPU?

Prints the digests of a few instances, which must be equal on every machine, and trains a small problem. If the default
device is not a CPU, the same arrays are also made on the CPU of the same machine and compared bit for bit.
"""

from __future__ import annotations

import hashlib
import json

import jax
import numpy as np

import loadstone


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


def main() -> None:
    here = instances()
    report = {"device": jax.devices()[0].device_kind, "jax": jax.__version__, "instances": here}
    if jax.default_backend() != "cpu":
        with jax.default_device(jax.devices("cpu")[0]):
            jax.clear_caches()
            report["equal to the CPU of this machine"] = instances() == here
        jax.clear_caches()
    for make in (loadstone.original, loadstone.decoupled):
        problem = make(loadstone.Stream(0, 50), 306)
        solution = loadstone.train(problem, loadstone.initial_memory(50, 1.0, 0))
        measured = loadstone.measure(problem, solution.memory)
        report[problem.description] = {"steps": solution.steps, "status": solution.status, **vars(measured)}
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
