"""The rank of each target among the scores of its outputs."""

import jax.numpy as jnp
import numpy as np

from loadstone.measurements.ranks import target_ranks
from loadstone.memories.full import Full
from loadstone.problems.facts import facts


def test_ranks_by_hand():
    """With W = 1 the scores are the inner products themselves."""
    outputs = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [1.0, 0.0]])
    problem = facts(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), outputs, targets=[0, 1, 2])
    # Output 2 beats output 0, and output 3 scores as much.
    assert target_ranks(problem, Full(jnp.eye(2))).tolist() == [3, 1, 1]
