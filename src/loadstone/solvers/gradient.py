"""Training on the cross-entropy with Adam, as in the paper: full batch, warm-up, cosine decay.

The gradient comes from the problem's pass: with respect to the query of association mu it is (pull_mu - u_mu) / n.

The loop is one compiled program. It is entered anew every few steps, so that progress can be shown and an interrupt is
heard; its state stays on the device.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from loadstone.arguments import choice, positive, set_as, whole
from loadstone.compiling import compiled
from loadstone.memories.memory import Memory
from loadstone.problems.problem import Problem
from loadstone.problems.recall import PRECISIONS
from loadstone.solvers.solution import Solution, Status

STOP_RULES = ("paper", "exact", "none")

#: The paper's protocol stops at an accuracy of 99.9 %: with at most one association in this many not stored.
PAPER_VIOLATIONS = 1000

_RUNNING, _STOPPED, _STEP_LIMIT, _DIVERGED = range(4)
_STATUS = {
    _RUNNING: Status.INITIAL,  # only after a rehearsal
    _STOPPED: Status.STOPPED,
    _STEP_LIMIT: Status.STEP_LIMIT,
    _DIVERGED: Status.DIVERGED,
}
#: The loop is left this often at least, and after about so many seconds: an interrupt waits no longer.
_SEGMENTS, _SEGMENT_SECONDS = 16, 1.0


@dataclass(frozen=True)
class Protocol:
    """How to train. The defaults are the paper's; it leaves the length of the warm-up open.

    `stop` is 'paper' (accuracy of 99.9 %), 'exact' (every margin positive) or 'none'. `precision` 'auto' means products
    in float16, summed in float32, on an accelerator, and float32 on a CPU, where nothing else is faster.
    """

    learning_rate: float = 1e-2
    steps: int = 512
    warmup: int = 32
    stop: str = "paper"
    precision: str = "auto"

    def __post_init__(self) -> None:
        set_as(self, "learning_rate", positive("learning_rate", self.learning_rate))
        set_as(self, "steps", whole("steps", self.steps, 1, 10**9))
        set_as(self, "warmup", whole("warmup", self.warmup, 0, self.steps - 1))
        choice("stop", self.stop, STOP_RULES)
        choice("precision", self.precision, ("auto", *PRECISIONS))

    def rate(self, step: Int[Array, ""]) -> Float[Array, ""]:
        """Linear from learning_rate / (warmup + 1) to learning_rate over the warm-up, then a half cosine to 0."""
        return optax.warmup_cosine_decay_schedule(
            self.learning_rate / (self.warmup + 1), self.learning_rate, self.warmup, self.steps
        )(step)


PAPER_PROTOCOL = Protocol()


def automatic_precision() -> str:
    """What 'auto' means on the present device."""
    return "float32" if jax.default_backend() == "cpu" else "float16"


class _State(NamedTuple):
    memory: Memory
    optimiser: optax.OptState
    step: Int[Array, ""]
    status: Int[Array, ""]
    loss: Float[Array, "steps+1"]
    accuracy: Float[Array, "steps+1"]


Progress = Callable[[int, float, float], None]


def train(
    problem: Problem, memory: Memory, protocol: Protocol = PAPER_PROTOCOL, progress: Progress | None = None
) -> Solution:
    """Train one memory. `progress` is called now and then with (steps, loss, accuracy)."""
    return train_batch([problem], [memory], protocol, progress)[0]


def train_batch(
    problems: Sequence[Problem],
    memories: Sequence[Memory],
    protocol: Protocol = PAPER_PROTOCOL,
    progress: Progress | None = None,
    rehearsal: bool = False,
) -> list[Solution]:
    """Train memories of equal shape on problems of equal shape as one program; each stops by itself. A rehearsal takes
    no step: it only has everything compiled.

    `progress` sees the furthest step, the mean loss and the mean accuracy. `seconds` of each solution is the time of
    the whole batch divided by its size.
    """
    began = time.perf_counter()
    if protocol.precision == "auto":
        protocol = replace(protocol, precision=automatic_precision())
    states = [_initial(memory, protocol) for memory in memories]
    alone = len(states) == 1
    problem, state = (problems[0], states[0]) if alone else (_stack(problems), _stack(states))
    advance = _advance if alone else _advance_batch
    until = length = 0 if rehearsal else 1
    while any(int(state.status) == _RUNNING for state in states):
        entered = time.perf_counter()
        state = advance(problem, state, jnp.int32(until), protocol)
        states = [state] if alone else _unstack(state, len(states))
        if rehearsal:
            break
        if progress:
            progress(*_report(states))
        pace = (time.perf_counter() - entered) / length
        length = max(1, min(int(_SEGMENT_SECONDS / pace), -(-protocol.steps // _SEGMENTS)))
        until += length
    seconds = (time.perf_counter() - began) / len(states)
    return [_solution(state, seconds) for state in states]


def _stack(trees: Sequence) -> object:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _unstack(tree: _State, count: int) -> list[_State]:
    leaves, structure = jax.tree.flatten(jax.device_get(tree))
    return [jax.tree.unflatten(structure, [leaf[index] for leaf in leaves]) for index in range(count)]


def _initial(memory: Memory, protocol: Protocol) -> _State:
    trace = jnp.full(protocol.steps + 1, jnp.nan)
    return _State(memory, _optimiser(protocol).init(memory), jnp.int32(0), jnp.int32(_RUNNING), trace, trace)


def _optimiser(protocol: Protocol) -> optax.GradientTransformation:
    return optax.adam(protocol.rate)


@partial(compiled, static_argnames="protocol")
def _advance(problem: Problem, state: _State, until: Int[Array, ""], protocol: Protocol) -> _State:
    """Advance a running state to step `until`, or to its end."""
    return _steps(problem, state, until, protocol)


def _steps(problem: Problem, state: _State, until: Int[Array, ""], protocol: Protocol) -> _State:
    def unfinished(state: _State) -> Array:
        return (state.status == _RUNNING) & (state.step < until)

    return jax.lax.while_loop(unfinished, partial(_step, problem, protocol), state)


@partial(compiled, static_argnames="protocol")
def _advance_batch(problems: Problem, states: _State, until: Int[Array, ""], protocol: Protocol) -> _State:
    """The same for stacked problems and states: their steps are taken together, and one that has ended stands still."""
    return jax.vmap(lambda problem, state: _steps(problem, state, until, protocol))(problems, states)


def _step(problem: Problem, protocol: Protocol, state: _State) -> _State:
    """Measure the memory; end if it may, else move it by one step of Adam."""
    memory = state.memory
    recall, gradient = memory.descend(problem, protocol.precision)
    n = problem.associations
    loss, violations = recall.loss.sum() / n, jnp.sum(~recall.stored)
    accuracy = 1 - violations / n
    met = {"paper": violations <= n // PAPER_VIOLATIONS, "exact": violations == 0, "none": False}[protocol.stop]
    status = jnp.where(state.step == protocol.steps, _STEP_LIMIT, _RUNNING)
    status = jnp.where(jnp.isfinite(loss), jnp.where(met, _STOPPED, status), _DIVERGED)

    updates, optimiser = _optimiser(protocol).update(gradient, state.optimiser)
    moved = optax.apply_updates(memory, updates)
    ended = status != _RUNNING
    memory, optimiser = jax.tree.map(
        lambda old, new: jnp.where(ended, old, new), (memory, state.optimiser), (moved, optimiser)
    )
    return _State(
        memory,
        optimiser,
        jnp.where(ended, state.step, state.step + 1),
        status.astype(jnp.int32),
        state.loss.at[state.step].set(loss.astype(state.loss.dtype)),
        state.accuracy.at[state.step].set(accuracy.astype(state.loss.dtype)),
    )


def _last(state: _State) -> tuple[int, float, float]:
    # The trace is filled before each step, so the newest entry of a running state is one behind its step.
    step = int(state.step)
    place = step - 1 if int(state.status) == _RUNNING else step
    # Indexed as NumPy arrays: JAX would compile a program for every new length or place.
    return step, float(np.asarray(state.loss)[place]), float(np.asarray(state.accuracy)[place])


def _report(states: Sequence[_State]) -> tuple[int, float, float]:
    steps, losses, accuracies = zip(*(_last(state) for state in states))
    return max(steps), float(np.mean(losses)), float(np.mean(accuracies))


def _solution(state: _State, seconds: float) -> Solution:
    steps = int(state.step)
    loss, accuracy = (np.asarray(trace)[: steps + 1] for trace in (state.loss, state.accuracy))
    memory = jax.tree.map(jnp.asarray, state.memory)
    return Solution(memory, _STATUS[int(state.status)], steps, loss, accuracy, seconds)
