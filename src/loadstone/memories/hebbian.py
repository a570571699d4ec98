"""The Hebbian rule: each association adds the product of its output and its input."""

from __future__ import annotations

import jax.numpy as jnp
from jax.lax import Precision

from loadstone.memories.memory import Full
from loadstone.problems.problem import Problem


def hebbian(problem: Problem) -> Full:
    """W = (1/d) sum_mu u_mu e_mu^T, u_mu being the target of input e_mu."""
    d = problem.inputs.shape[-1]
    return Full(jnp.matmul(problem.target_outputs.T, problem.inputs, precision=Precision.HIGHEST) / d)
