"""The fused CPU pass under address and undefined-behaviour sanitizers, over random and degenerate shapes.

    python benchmarks/sanitize.py [--shapes 300] [--seed 0]

The kernel is rebuilt with the sanitizers of the installed compiler and called for each shape, with and without W, for
one problem and for two at a time. Its numbers are compared with NumPy's, and operands that do not fit must give errors.
The first finding of a sanitizer ends the run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1"


def runtime() -> str:
    """The libraries that must be loaded before all others: the sanitizer's, and C++'s for the exceptions it watches."""
    ask = lambda name: subprocess.run(  # noqa: E731
        ["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return f"{ask('libasan.so')} {ask('libstdc++.so.6')}"


def reference(queries, outputs, targets):
    import numpy as np

    scores = queries @ outputs.T
    rows = np.arange(len(targets))
    rivals = scores.copy()
    rivals[rows, targets] = -np.inf
    top = scores.max(1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(1, keepdims=True)
    slope = weights / total @ outputs - outputs[targets]
    return scores[rows, targets], rivals.max(1), (top + np.log(total))[:, 0], slope


def check_shape(random, n: int, m: int, d: int) -> None:
    """Both programs against NumPy at one shape, alone and two at a time."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from loadstone.kernels import shared_cpu
    from loadstone.kernels.outputs import SharedOutputs

    inputs, outputs = random.standard_normal((2, n, d)), random.standard_normal((2, m, d))
    targets, weights = random.integers(0, m, (2, n)), random.standard_normal((2, d, d)) / d
    arrays = [jnp.asarray(part, jnp.float32) for part in (inputs, outputs, weights)]
    indices = jnp.asarray(targets, jnp.int32)
    recall = lambda q, u, t: shared_cpu.shared_pass(q, SharedOutputs(u, t, 1), "float32")  # noqa: E731
    found, slope = jax.vmap(recall)(arrays[0], arrays[1], indices)
    step = lambda w, e, u, t: shared_cpu.linear_step(w, e, SharedOutputs(u, t, 1))  # noqa: E731
    stepped, gradient = jax.vmap(step)(arrays[2], arrays[0], arrays[1], indices)
    alone, alone_slope = recall(arrays[0][0], arrays[1][0], indices[0])
    np.testing.assert_array_equal(alone_slope, slope[0])
    for index in range(2):
        expected = reference(inputs[index], outputs[index], targets[index])
        for ours, theirs in zip((*found[:3], slope), expected):
            np.testing.assert_allclose(ours[index], theirs, atol=1e-5 * (d + 10), rtol=1e-4)
        expected = reference(inputs[index] @ weights[index].T, outputs[index], targets[index])
        np.testing.assert_allclose(stepped.logsumexp[index], expected[2], atol=1e-5 * (d + 10), rtol=1e-4)
        np.testing.assert_allclose(gradient[index], expected[3].T @ inputs[index], atol=1e-5 * (d + 10) * n)


def check_misfits() -> int:
    """Give the kernel itself operands that do not fit; return how many were refused."""
    import jax
    import jax.numpy as jnp

    row, rows = jax.ShapeDtypeStruct((5,), jnp.float32), jax.ShapeDtypeStruct((5, 4), jnp.float32)
    queries, outputs, targets = jnp.ones((5, 4)), jnp.ones((7, 4)), jnp.arange(5, dtype=jnp.int32)
    misfits = [
        (queries[:4], outputs, targets), (queries, outputs[:, :3], targets), (queries, outputs, targets[:2]),
        (queries, outputs, targets + 5), (queries, outputs, targets - 1), (queries, outputs[:0], targets),
        (jnp.ones((5, 0)), jnp.ones((7, 0)), targets), (queries[None], outputs, targets),
    ]  # fmt: skip
    for misfit in misfits:
        try:
            jax.block_until_ready(jax.ffi.ffi_call("loadstone_shared_recall", (row, row, row, rows))(*misfit))
        except (ValueError, jax.errors.JaxRuntimeError):
            continue
        raise AssertionError(f"operands of shapes {[part.shape for part in misfit]} were accepted")
    return len(misfits)


def run(shapes: int, seed: int) -> None:
    import numpy as np

    from loadstone.kernels import shared_cpu

    assert shared_cpu.available(), "the kernel could not be built with the sanitizers"
    random = np.random.default_rng(seed)
    # Around the rows, vectors and tiles of the kernel on machines of every width.
    edges = [1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 24, 25, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 129]
    for count in range(shapes):
        sizes = np.where(random.random(3) < 0.7, random.choice(edges, 3), random.integers(1, 300, 3))
        n, m, d = (int(size) for size in sizes)
        check_shape(random, n, m, min(d, 130))
        if count % 50 == 49:
            print(f"{count + 1} shapes", flush=True)
    print(f"{shapes} shapes and {check_misfits()} misfits: no finding.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        return run(arguments.shapes, arguments.seed)
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {
            "LOADSTONE_CPU_KERNEL_FLAGS": FLAGS, "XDG_CACHE_HOME": cache, "LD_PRELOAD": runtime(),
            "JAX_PLATFORMS": "cpu",
            # Python and JAX keep memory until they exit, which is no leak of the kernel.
            "ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1",
        }  # fmt: skip
        command = [sys.executable, __file__, "--here", "--shapes", str(arguments.shapes), "--seed", str(arguments.seed)]
        sys.exit(subprocess.run(command, env=environment).returncode)


if __name__ == "__main__":
    main()
