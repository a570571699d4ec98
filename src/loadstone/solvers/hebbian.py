"""The Hebbian rule: each association adds the product of its output and its input."""

from __future__ import annotations

from jaxtyping import Array, Float

from loadstone.compiling import compiled
from loadstone.memories.memory import Full
from loadstone.problems.problem import Problem
from loadstone.problems.recall import exact


def hebbian(problem: Problem) -> Full:
    """W = (1/d) sum_mu u_mu e_mu^T, u_mu being the target of input e_mu."""
    return Full(_sum(problem))


@compiled
def _sum(problem: Problem) -> Float[Array, "d d"]:
    return exact(problem.target_outputs.T, problem.inputs) / problem.inputs.shape[-1]
