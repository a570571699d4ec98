"""Sample the memories that store an instance: how alike they are, how many there are, and what they look like."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from loadstone.arguments import choice, refuse, true_or_false, whole
from loadstone.deadline import Deadline
from loadstone.estimate import Estimate
from loadstone.memories.families import subspace_of
from loadstone.memories.full import Full
from loadstone.memories.memory import Memory
from loadstone.memories.projected import Projected
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.arrays import HasArrays, arrays_of
from loadstone.problems.facts import facts_of
from loadstone.problems.padded import Padded
from loadstone.problems.problem import Problem, check_problem
from loadstone.problems.separate import separate
from loadstone.progress import Progress, progress_of
from loadstone.readable import readable
from loadstone.space.chains import METHODS, Chains, run_chains, unit
from loadstone.space.diagnostics import Mixing
from loadstone.space.overlap import overlap
from loadstone.space.ratios import ratios
from loadstone.space.starts import in_digits, starting_points
from loadstone.space.volume import Volume, volume

#: Default steps of each chain, the warm-up included.
STEPS = {"reflections": 320, "slices": 400_000}
#: Memory and time grow with the number of chains; this is far more than anybody needs.
_MOST_CHAINS = 4096


@dataclass(frozen=True)
class Sampled:
    """The memories that store an instance, W Gaussian.

    mixing: whether the chains have mixed. If they have not, nothing is averaged, and the fields below are None.
    overlap: the mean cosine of two of them.
    volume: the logarithm of the probability that a random W is one of them; None if it was not asked for, or if one of
        the shares that it is a product of is too small to be seen.
    centre: their mean direction.
    typical: the last memory of each chain.
    dimension: of the family.
    steps, passes: steps of each chain, and passes of all of them together.
    seconds: time taken.
    """

    mixing: Mixing
    overlap: Estimate | None
    volume: Volume | None
    centre: Memory | None
    typical: tuple[Memory, ...] | None = field(repr=False)
    dimension: int
    steps: int
    passes: int
    seconds: float

    __repr__ = readable


def sample(
    instance: HasArrays,
    chains: int = 4,
    *,
    steps: int | None = None,
    seed: int = 0,
    family: str | Subspace | Memory = "full",
    method: str = "reflections",
    with_volume: bool = True,
    progress: Progress | None = None,
) -> Sampled:
    """Sample all W, or those of a linear family, that store an instance.

    chains, steps: how many independent chains, each from a random start, and how many steps each takes; default:
        enough for a few hundred independent samples at moderate sizes.
    seed: of starts and chains; the same seed gives the same samples on the same machine.
    method: 'reflections' or 'slices' (space/steps.py).
    with_volume: whether to find how many there are, which takes several times as long.
    progress: called with how much is done, in per cent, of the chains and then of the volume.

    An instance that is not storable is refused with its proof.

    Example:
        >>> problem = loadstone.original(loadstone.Stream(0, 4), 3)
        >>> result = loadstone.sample(problem, steps=50, with_volume=False)
        >>> result.dimension, result.mixing.effective_samples > 10
        (16, True)
    """
    clock, progress = Deadline(), progress_of(progress)
    chains, seed = whole("chains", chains, 2, _MOST_CHAINS), whole("seed", seed, 0, 2**31 - 1)
    choice("method", method, METHODS)
    with_volume = true_or_false("with_volume", with_volume)
    steps = STEPS[method] if steps is None else whole("steps", steps, 2, 10**9)
    problem = _problem(instance)
    d = problem.inputs.shape[1]
    subspace = subspace_of(family, d, seed=seed)
    memories = starting_points(problem, chains, seed, subspace)
    starts, doubled = _inside(problem, memories, subspace)
    with jax.enable_x64(True) if doubled else nullcontext():
        problem = problem.in_float64() or problem if doubled else problem.in_float32()
        walked = run_chains(problem, starts, steps, seed, subspace, method, progress)
        size = None
        if walked.mixing.mixed and with_volume:
            size = volume(problem, walked.walk, seed, subspace, progress=progress)
    return _answer(walked, size, subspace, clock.taken)


def _answer(walked: Chains, size: Volume | None, subspace: Subspace | None, seconds: float) -> Sampled:
    d = walked.means.shape[-1]
    dimension = d * d if subspace is None else subspace.dimension(d)
    work = (dimension, walked.steps, walked.passes, seconds)
    if not walked.mixing.mixed:
        return Sampled(walked.mixing, None, None, None, None, *work)
    member = (lambda one: Full(one)) if subspace is None else (lambda one: Projected.made(one, subspace))
    return Sampled(
        walked.mixing,
        overlap(walked.means.reshape(*walked.means.shape[:2], -1)),
        size,
        member(np.asarray(walked.means.mean(axis=(0, 1)))),
        tuple(member(one) for one in np.asarray(unit(walked.walk.before))),
        *work,
    )


def _problem(instance: HasArrays) -> Problem:
    if not isinstance(instance, Problem):
        arrays = arrays_of(instance)
        return separate(arrays) if arrays.decoupled else facts_of(arrays)
    problem = check_problem(instance)
    if isinstance(problem, Padded):
        problem = problem.unpadded()
    if problem.competitors < 2:
        raise refuse("outputs", f"{problem.competitors} of them", "at least two, since one has no rival")
    if problem.inputs.shape[0] * problem.competitors >= 2**31:
        pairs = problem.inputs.shape[0] * problem.competitors
        raise refuse("pairs of an association and an output", pairs, "fewer than 2^31")
    return problem


def _inside(
    problem: Problem, memories: np.ndarray, subspace: Subspace | None
) -> tuple[Float[Array, "chains d d"], bool]:
    """The starts in float32, or in float64 if rounding would put one of them outside; and whether it is float64."""
    starts = in_digits(memories, subspace, jnp.float32)
    count = problem.inputs.shape[0] * problem.competitors
    if bool((_margins(problem.in_float32(), starts, count) > 0).all()):
        return starts, False
    with jax.enable_x64(True):
        return in_digits(memories, subspace, jnp.float64), True


@jax.jit
def _margins(problem: Problem, starts: Float[Array, "chains d d"], count: int) -> Float[Array, "chains n"]:
    return ratios(problem, starts, starts, count).margin
