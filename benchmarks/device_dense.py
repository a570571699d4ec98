"""One dense Newton solve on an accelerator in float64: seconds, relative residual and peak memory.

python benchmarks/device_dense.py --d 180
"""

from __future__ import annotations

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

from loadstone.problems.instance import Instance
from loadstone.problems.numpy_pass import ExactPass
from loadstone.solvers.hessian import Hessian
from loadstone.solvers.newton import _softmax
from loadstone.streams.stream import Stream
from loadstone.theory.capacity import capacity_associations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--d", type=int, default=180)
    d = parser.parse_args().d
    p = round(float(capacity_associations(d)))
    with jax.enable_x64(True):
        exact = ExactPass(Instance(Stream(0, d), p).arrays(), jnp)
        weights = jnp.asarray(np.random.default_rng(0).standard_normal((d, d)) / d)
        softmax, _ = _softmax(exact.scores(weights), exact, jnp)
        pull = exact.mean(softmax)
        gradient = (pull - exact.target_outputs).T @ exact.inputs
        hessian = Hessian(exact.inputs, exact.spreads(softmax, pull, pull), jnp)
        del softmax, exact
        gradient.block_until_ready()
        began = time.perf_counter()
        step = hessian.dense(gradient, refinements=1)
        residual = float(jnp.linalg.norm(hessian.product(step) - gradient) / jnp.linalg.norm(gradient))
        seconds = time.perf_counter() - began
    peak = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0) / 1e9
    print(f"d = {d}, p = {p}: dense solve in {seconds:.1f} s, relative residual {residual:.1e}, peak {peak:.1f} GB")


if __name__ == "__main__":
    main()
