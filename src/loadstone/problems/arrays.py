"""An instance as plain arrays with all its numbers: what proofs are about and files hold."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Protocol

import numpy as np
from jaxtyping import Float32, Float64, Int64
from numpy.typing import ArrayLike

from loadstone.arguments import refuse, set_as
from loadstone.given_arrays import array_of, real_array
from loadstone.readable import readable


class HasArrays(Protocol):
    """Anything that gives its instance as exact arrays: an `Instance`, a `Problem`, or `Arrays`."""

    def arrays(self) -> Arrays: ...


@dataclass(frozen=True)
class Arrays:
    """n inputs, each with the outputs that compete for it and the one among them that is its target.

    inputs: one input per row, float32 or float64; other numbers become float64 if that holds them exactly.
    outputs: one output per row, shared by all inputs; or (decoupled) for each input the outputs that compete for it.
    targets: for each input, the index of its target among its outputs.
    """

    inputs: Float32[np.ndarray, "n d"] | Float64[np.ndarray, "n d"]
    outputs: Float32[np.ndarray, "*n m d"] | Float64[np.ndarray, "*n m d"]
    targets: Int64[np.ndarray, "n"]

    __repr__ = readable

    def __post_init__(self) -> None:
        inputs, outputs = exact_floats("inputs", self.inputs), exact_floats("outputs", self.outputs)
        if inputs.ndim != 2 or 0 in inputs.shape:
            raise refuse("inputs.shape", inputs.shape, "(n, d) with n and d of at least 1")
        n, d = inputs.shape
        if outputs.ndim not in (2, 3) or outputs.shape[-1] != d or (outputs.ndim == 3 and outputs.shape[0] != n):
            shapes = f"(m, {d}), or ({n}, m, {d}) where each input has a separate set of outputs"
            raise refuse("outputs.shape", outputs.shape, shapes)
        if outputs.shape[-2] < 2:
            raise refuse("outputs.shape", outputs.shape, "at least two outputs, since one has no rival")
        set_as(self, "inputs", inputs)
        set_as(self, "outputs", outputs)
        set_as(self, "targets", _indices(self.targets, n, outputs.shape[-2]))

    @property
    def decoupled(self) -> bool:
        """Whether each input has a separate set of outputs."""
        return self.outputs.ndim == 3

    def arrays(self) -> Arrays:
        """These arrays themselves, so that they can be given in place of an instance or a problem."""
        return self

    @property
    def target_outputs(self) -> Float32[np.ndarray, "n d"] | Float64[np.ndarray, "n d"]:
        rows = (np.arange(len(self.targets)),) if self.decoupled else ()
        return self.outputs[*rows, self.targets]


def arrays_of(instance: HasArrays) -> Arrays:
    """The arrays of anything that has them: a problem, for example."""
    make = None if isinstance(instance, type) else getattr(instance, "arrays", None)
    arrays = make() if callable(make) else None
    if not isinstance(arrays, Arrays):
        allowed = "a problem, such as facts(...), an Instance or Arrays"
        raise refuse("instance", f"a {type(instance).__name__}", allowed)
    return arrays


def exact_floats(name: str, value: ArrayLike) -> np.ndarray:
    """float32 and float64 unchanged, so that a proof is about exactly the numbers given; other numbers as float64.

    Anything but a rectangular array of finite real numbers is refused, and so are numbers that would be rounded.
    """
    array = real_array(name, value, "an array of real numbers")
    with np.errstate(over="ignore"):
        floats = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    _require(name, floats, np.isfinite(floats), "finite")
    # If a list mixes whole numbers with fractions, NumPy has already rounded the whole numbers.
    given = array if hasattr(value, "dtype") else np.asarray(value, object)
    _require(name, given, _unchanged(given, floats), "a number that float64 holds exactly, as all below 2^53 are")
    return floats


def _unchanged(given: np.ndarray, floats: np.ndarray) -> np.ndarray | np.bool_:
    """Where the conversion to float has left a number unchanged."""
    if given.dtype == floats.dtype:
        return np.True_
    if given.dtype.kind == "f":
        return given == floats  # compared in the longer type
    same = np.asarray(np.abs(floats) < 2.0**53)
    large = zip(given[~same].tolist(), floats[~same].tolist())
    same[~same] = [not isinstance(number, Integral) or int(number) == as_float for number, as_float in large]
    return same


def _require(name: str, array: np.ndarray, good: np.ndarray | np.bool_, allowed: str) -> None:
    if not good.all():
        index = tuple(int(i) for i in np.argwhere(~good)[0])
        raise ValueError(f"{name}{list(index)} is {array[index]}, but must be {allowed}.")


def _indices(value: ArrayLike, n: int, m: int) -> Int64[np.ndarray, "n"]:
    targets = array_of("targets", value, f"{n} whole numbers, one for each input")
    if targets.dtype.kind not in "iu" or targets.shape != (n,):
        raise refuse("targets", _words(targets), f"{n} whole numbers, one for each input")
    _require("targets", targets, (targets >= 0) & (targets < m), f"in 0..{m - 1}, the index of an output")
    return targets.astype(np.int64)


def _words(array: np.ndarray) -> str:
    return f"{array.dtype} of shape {array.shape}"
