"""How programs are compiled."""

from __future__ import annotations

from functools import partial

import jax

#: On a GPU the compiler would try every product in many ways. That takes tens of seconds for each new shape, and memory
#: for a copy of its operands; what the vendor's library chooses by itself is as fast.
NO_TRIALS = {"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False}

#: `jax.jit` without trials.
compiled = partial(jax.jit, compiler_options=NO_TRIALS)
