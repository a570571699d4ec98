"""The pass over shared outputs as one fused kernel on a CPU, built on first use if there is a C++ compiler.

XLA's CPU products reach only about half of the machine's speed on the narrow matrices of a pass (their inner size is
d), and its softmax goes to memory and back. The kernel in shared_cpu.cc keeps both in the cache. If it cannot be built,
the pass runs in XLA, with the same results to rounding, and a sentence is logged.
"""

from __future__ import annotations

import logging
import os
import subprocess
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32

from loadstone.arguments import refuse
from loadstone.kernels import libraries
from loadstone.kernels.outputs import SharedOutputs, check_shared
from loadstone.kernels.recall import Recall, Slope, rows_of

_SOURCE = Path(__file__).with_suffix(".cc")
_KERNELS = _SOURCE.with_name("shared_cpu_kernels.h")
_RECALL, _STEP = "loadstone_shared_recall", "loadstone_shared_step"
_FLAGS = ("-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", "-w")
#: Set to 0 to run the pass in XLA.
_SWITCH = "LOADSTONE_CPU_KERNEL"
#: Further flags for the compiler, such as those of a sanitizer.
_MORE_FLAGS = "LOADSTONE_CPU_KERNEL_FLAGS"

_log = logging.getLogger("loadstone")


@cache
def available() -> bool:
    """Whether the kernel runs here: on a CPU, with a compiler, and unless it is switched off."""
    if jax.default_backend() != "cpu" or os.environ.get(_SWITCH) == "0":
        return False
    try:
        flags = [*_FLAGS, *os.environ.get(_MORE_FLAGS, "").split()]
        library = libraries.load(_SOURCE, [_KERNELS], flags=flags)
        for target in (_RECALL, _STEP):
            jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(getattr(library, target)), platform="cpu")
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        _log.info("The fused CPU pass cannot be built (%s), so the pass runs in XLA.", error)
        return False
    return True


def shared_pass(queries: Float32[Array, "n d"], outputs: SharedOutputs, precision: str) -> tuple[Recall, Slope]:
    """Every query against the same outputs, in float32. Memory O(n d + m d)."""
    _check(queries, outputs)
    row, rows = _shapes(queries)
    call = jax.ffi.ffi_call(_RECALL, (row, row, row, rows), vmap_method="broadcast_all")
    target, rival, logsumexp, slope = call(queries, outputs.array, outputs.targets)
    return Recall(target, rival, logsumexp, slope + rows_of(outputs.array, outputs.targets)), slope


def linear_step(
    weights: Float32[Array, "d d"], inputs: Float32[Array, "n d"], outputs: SharedOutputs
) -> tuple[Recall, Float32[Array, "d d"]]:
    """A pass with the queries W e, and the gradient of its summed loss with respect to W, in one go."""
    _check(inputs, outputs)
    if weights.shape != (inputs.shape[1],) * 2 or weights.dtype != jnp.float32:
        wanted = f"float32({inputs.shape[1]}, {inputs.shape[1]}), to go with inputs of shape {inputs.shape}"
        raise refuse("weights", f"{weights.dtype}{weights.shape}", wanted)
    row, rows = _shapes(inputs)
    square = jax.ShapeDtypeStruct(weights.shape, weights.dtype)
    call = jax.ffi.ffi_call(_STEP, (row, row, row, rows, square), vmap_method="broadcast_all")
    target, rival, logsumexp, slope, gradient = call(weights, inputs, outputs.array, outputs.targets)
    # Training does not use the pull, and XLA then omits its sum.
    return Recall(target, rival, logsumexp, slope + rows_of(outputs.array, outputs.targets)), gradient


def _check(queries: Array, outputs: SharedOutputs) -> None:
    check_shared(queries, outputs)
    if outputs.count is not None:
        raise refuse("count", outputs.count, "None: the fused CPU pass has no padding")
    operands = ("queries", queries, "float32"), ("outputs", outputs.array, "float32")
    for name, array, wanted in (*operands, ("targets", outputs.targets, "int32")):
        if array.dtype != wanted:
            raise refuse(f"{name}.dtype", str(array.dtype), f"{wanted} for the fused CPU pass")


def _shapes(vectors: Float32[Array, "n d"]) -> tuple[jax.ShapeDtypeStruct, jax.ShapeDtypeStruct]:
    return jax.ShapeDtypeStruct(vectors.shape[:1], vectors.dtype), jax.ShapeDtypeStruct(vectors.shape, vectors.dtype)
