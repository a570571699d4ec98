"""Which implementation of the pass is used: one table, read from top to bottom.

All implementations for the same kind of outputs take the same arguments and give the same results, to rounding. A new
one is a file and a line here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import jax.numpy as jnp
from jax.typing import DTypeLike

from loadstone.arguments import refuse
from loadstone.kernels import devices, shared_cpu


@dataclass(frozen=True)
class Case:
    """What a pass has to do.

    outputs: 'shared' by all inputs, 'stored' for each input, or 'made' (regenerated) for each input in every pass;
        'linear step': shared, for a step from W to the gradient; 'filled': shared, and filled up for a kernel.
    precision: of the products.
    queries, competitors, d: how many queries, against how many outputs each, of how many components.
    dtype: of the queries (and of shared outputs).
    padded: whether some rows are padding.
    law: of outputs that are regenerated.
    held: type of outputs that are stored.
    """

    outputs: str
    precision: str
    queries: int
    competitors: int
    d: int
    dtype: DTypeLike
    padded: bool = False
    law: str = ""
    held: DTypeLike = jnp.float32


def _fits_hopper(case: Case) -> bool:
    """Up to 256 components; with more, up to 512, the file for halves of them is used."""
    return case.d <= devices.MOST_WHOLE and _fits_hopper_halves(case)


def _fits_hopper_halves(case: Case) -> bool:
    small = case.d <= devices.MOST_SHARED and case.queries * case.competitors <= devices.MOST_SCORES
    return _is_for_hopper(case) and small


def _fits_hopper_wide(case: Case) -> bool:
    """Many components, and enough scores to fill the chip."""
    large = case.d > devices.MOST_SHARED and case.queries * case.competitors >= devices.MANY_SCORES
    return _is_for_hopper(case) and large


def _fits_hopper_split(case: Case) -> bool:
    singles = case.precision == "split" and case.dtype == jnp.float32
    return singles and is_split_worthwhile(case) and devices.has_hopper_kernel()


def is_split_worthwhile(case: Case) -> bool:
    """Whether a pass with split numbers can be expected to take less time than one in float32. A pass over few scores
    is a row of small operations, and splitting adds to them: in a search at d = 50, compiled for an H200, there are 84
    instead of 53."""
    return case.queries * case.competitors >= devices.SOME_SCORES


def _is_for_hopper(case: Case) -> bool:
    return case.precision == "float16" and case.dtype == jnp.float32 and devices.has_hopper_kernel()


def _fits_cpu(case: Case) -> bool:
    singles = case.precision == "float32" and case.dtype == jnp.float32
    return singles and not case.padded and shared_cpu.available()


def _fits_triton(case: Case) -> bool:
    return case.dtype == jnp.float32 and devices.has_triton_kernels()


def is_faster_in_float16(case: Case) -> bool:
    """Whether a pass over stored outputs is known to be faster if they are float16: at sizes where that was measured,
    with rows of memory that begin where 16 bytes can be read."""
    sizes = case.d in devices.FLOAT16_SIZES and case.competitors % 8 == 0
    return case.held == jnp.float16 and case.dtype == jnp.float32 and sizes and devices.is_hopper()


def _always(case: Case) -> bool:
    return True


#: Kind of outputs, file of the implementation, and when it is used.
WAYS: tuple[tuple[str, str, Callable[[Case], bool]], ...] = (
    ("shared", "hopper.to_256", _fits_hopper),
    ("shared", "hopper.to_512", _fits_hopper_halves),
    ("shared", "hopper.wide", _fits_hopper_wide),
    ("shared", "shared_cpu", _fits_cpu),
    ("shared", "hopper.split", _fits_hopper_split),
    ("shared", "shared_split", lambda case: case.precision == "split" and case.dtype == jnp.float32),
    ("shared", "shared_xla", _always),
    ("stored", "decoupled_float16_triton", is_faster_in_float16),
    ("stored", "decoupled_triton", _fits_triton),
    ("stored", "decoupled_xla", _always),
    ("made", "decoupled_regenerated_triton", lambda case: case.law == "gaussian" and _fits_triton(case)),
    ("made", "decoupled_xla", _always),
    ("linear step", "shared_cpu", _fits_cpu),
    ("filled", "hopper.to_256", _fits_hopper),
    ("filled", "hopper.to_512", _fits_hopper_halves),
)
_FUNCTIONS = {
    "shared": "shared_pass",
    "stored": "stored_pass",
    "made": "made_pass",
    "linear step": "linear_step",
    "filled": "filled_recall",
}


def chosen(case: Case) -> Callable:
    """The first implementation in the table that can do this pass."""
    way = found(case)
    if way is None:
        raise refuse("outputs", case.outputs, "of a kind that the table of passes has")
    return way


def found(case: Case) -> Callable | None:
    """The same, or None if there is none."""
    for outputs, file, fits in WAYS:
        if outputs == case.outputs and fits(case):
            # Kernels are imported only when needed: each takes a while, and some work only on one kind of device.
            return getattr(import_module(f"loadstone.kernels.{file}"), _FUNCTIONS[outputs])
    return None
