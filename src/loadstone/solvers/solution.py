"""What a solver returns: a memory, and how its search ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import Float

from loadstone.memories.memory import Memory


class Status(StrEnum):
    """How a search ended. None of these says that the associations cannot be stored."""

    STOPPED = "stop rule met"
    STEP_LIMIT = "step limit"
    DIVERGED = "diverged"
    CLOSED_FORM = "closed form"
    INITIAL = "initial"


@dataclass(frozen=True)
class Solution:
    """A memory with the trace of loss and accuracy before each of its steps (and after the last)."""

    memory: Memory
    status: Status
    steps: int
    loss: Float[np.ndarray, "steps+1"]
    accuracy: Float[np.ndarray, "steps+1"]
    seconds: float
