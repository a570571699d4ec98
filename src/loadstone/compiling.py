"""The options with which programs are compiled."""

from __future__ import annotations

from functools import partial

import jax

from loadstone.plugins import has_gpu_plugin

#: A compiled function and its arguments: shapes in place of arrays, values for static arguments. The modules that
#: compile say by `programs` which calls they will make, so that these are compiled before they are needed
#: (tasks/task.py).
Call = tuple[jax.stages.Wrapped, tuple]

#: On a GPU the compiler would time many ways to do every product. That takes tens of seconds for each new shape, and
#: memory for a copy of the operands; the way that the vendor's library chooses is as fast.
NO_TRIALS = {"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False}

#: `jax.jit` without this autotuning.
compiled = partial(jax.jit, compiler_options=NO_TRIALS)

#: For loops whose end depends on computed numbers. Run by the host, each step would wait until the host has read them.
#: As a CUDA graph such a loop is launched once and ends by itself. These are XLA's defaults for what goes into graphs,
#: and loops and branches as well.
IN_GRAPHS = "FUSION,CUBLAS,CUBLASLT,CUDNN,CUSTOM_CALL,DYNAMIC_SLICE_FUSION,CONDITIONAL,WHILE"
#: XLA refuses names that it does not know, on a CPU too; so they are given only where they can matter.
ON_THE_GPU = {"xla_gpu_enable_command_buffer": IN_GRAPHS} if has_gpu_plugin() else {}
compiled_loop = partial(jax.jit, compiler_options=NO_TRIALS | ON_THE_GPU)

#: For functions that are called both inside and outside of compiled programs. Inside it changes nothing; outside it
#: compiles the whole function as one program instead of each operation separately.
one_program = partial(jax.jit, inline=True)
