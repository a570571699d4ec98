"""Which fused kernels the present device can run. Without a kernel the pass runs in XLA, and a sentence is logged."""

from __future__ import annotations

import logging
import os
from functools import cache

import jax

#: Largest d of the kernels for shared outputs: the pull of 64 queries then fills the registers of one warpgroup, or of
#: two.
MOST_WHOLE, MOST_SHARED = 256, 512
#: With more scores they would have more tiles than their workers can number.
MOST_SCORES = 2**42
#: Fewest scores of the pass for more components, and of the pass for split numbers, which may have any number of
#: components.
MANY_SCORES, SOME_SCORES = 10**8, 2 * 10**6
#: Numbers of components for which outputs stored in float16 are multiplied in tensor cores (measured at 150 and 256).
FLOAT16_SIZES = range(128, 257)
#: Set to 0 to run every pass in XLA.
_SWITCH = "LOADSTONE_GPU_KERNELS"
_log = logging.getLogger("loadstone")


@cache
def has_triton_kernels() -> bool:
    """Whether the kernels for decoupled outputs run here: Pallas through Triton, on NVIDIA GPUs from Ampere on."""
    return _capability() >= (8, 0)


@cache
def has_hopper_kernel() -> bool:
    """Whether the kernels for shared outputs run here: Pallas through Mosaic, on Hopper alone."""
    capability = _capability()
    if capability > (0, 0) and capability != (9, 0):
        _log.info("The fused pass over shared outputs is made for Hopper GPUs, so here the pass runs in XLA.")
    return capability == (9, 0)


def is_hopper() -> bool:
    return _capability() == (9, 0)


def processors() -> int:
    """How many processors the chip has; each has room for one block. Without a GPU (compiling only): of an H200."""
    return getattr(jax.devices()[0], "core_count", None) or 132


@cache
def _capability() -> tuple[int, int]:
    """Compute capability of the NVIDIA GPU; (0, 0) if there is none or the user has switched the kernels off."""
    if jax.default_backend() != "gpu" or os.environ.get(_SWITCH) == "0":
        return 0, 0
    try:
        from jax.experimental.pallas import mosaic_gpu, triton  # noqa: F401

        major, _, minor = str(jax.devices()[0].compute_capability).partition(".")
        return int(major), int(minor)
    except (ImportError, AttributeError, ValueError) as error:
        _log.info("The fused GPU passes cannot be used (%s), so the pass runs in XLA.", error)
        return 0, 0
