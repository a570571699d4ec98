"""Which kernel carries out a pass: one table, read from top to bottom.

To carry out a pass, call one of the three functions at the end; they check their arguments and hand them to the first
kernel that fits. All kernels for one job take the same arguments (kernels/outputs.py) and give the same results,
to rounding. A new kernel is a file and a row here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from loadstone.kernels import devices, shared_cpu
from loadstone.kernels.outputs import Pass, RegeneratedOutputs, SharedOutputs, StoredOutputs, check_shared, check_stored
from loadstone.kernels.recall import Recall, Slope


@dataclass(frozen=True)
class Case:
    """What decides which kernel carries out a pass.

    precision: of the products.
    queries, competitors, d: how many queries, against how many outputs each, of how many components.
    dtype: of the queries (and of shared outputs).
    padded: whether some rows are padding.
    law: of outputs that are regenerated.
    held: type of outputs that are stored.
    """

    precision: str
    queries: int
    competitors: int
    d: int
    dtype: DTypeLike
    padded: bool = False
    law: str = ""
    held: DTypeLike = jnp.float32


class Row(NamedTuple):
    """A kernel: the function of a module that does a job, and which cases it serves."""

    job: str
    module: str
    fits: Callable[[Case], bool]


def is_split_faster(case: Case) -> bool:
    """Whether a pass with split numbers can be expected to take less time than one in float32. A pass over few scores
    is a row of small operations, and splitting adds to them: in a search at d = 50, compiled for an H200, there are 84
    instead of 53."""
    return case.queries * case.competitors >= devices.SOME_SCORES


def is_faster_in_float16(case: Case) -> bool:
    """Whether a pass over stored outputs is known to be faster if they are float16: at sizes where that was measured,
    with rows of memory that begin where 16 bytes can be read."""
    sizes = case.d in devices.FLOAT16_SIZES and case.competitors % 8 == 0
    return case.held == jnp.float16 and case.dtype == jnp.float32 and sizes and devices.is_hopper()


def _fits_to_256(case: Case) -> bool:
    return case.d <= devices.MOST_WHOLE and _fits_to_512(case)


def _fits_to_512(case: Case) -> bool:
    small = case.d <= devices.MOST_SHARED and case.queries * case.competitors <= devices.MOST_SCORES
    return _is_for_hopper(case, "float16") and small


def _fits_wide(case: Case) -> bool:
    """Many components, or split numbers, and enough scores to fill the chip."""
    large = case.d > devices.MOST_SHARED and case.queries * case.competitors >= devices.MANY_SCORES
    split = is_split_faster(case) and _is_for_hopper(case, "split")
    return split or (_is_for_hopper(case, "float16") and large)


def _is_for_hopper(case: Case, precision: str) -> bool:
    return case.precision == precision and case.dtype == jnp.float32 and devices.has_hopper_kernel()


def _fits_split(case: Case) -> bool:
    return case.precision == "split" and case.dtype == jnp.float32


def _fits_cpu(case: Case) -> bool:
    singles = case.precision == "float32" and case.dtype == jnp.float32
    return singles and not case.padded and shared_cpu.available()


def _fits_triton(case: Case) -> bool:
    return case.dtype == jnp.float32 and devices.has_triton_kernels()


def _fits_regenerating(case: Case) -> bool:
    return case.law == "gaussian" and _fits_triton(case)


def _always(case: Case) -> bool:
    return True


#: `linear_step` goes from W to the gradient in one go; `recall_of_arrays` is given float16 arrays, padded to tiles
#: (kernels/hopper/arrays.py). Both exist only where there is a kernel for them.
TABLE = (
    Row("shared_pass", "hopper.to_256", _fits_to_256),
    Row("shared_pass", "hopper.to_512", _fits_to_512),
    Row("shared_pass", "hopper.wide", _fits_wide),
    Row("shared_pass", "shared_cpu", _fits_cpu),
    Row("shared_pass", "shared_split", _fits_split),
    Row("shared_pass", "shared_xla", _always),
    Row("stored_pass", "decoupled_float16_triton", is_faster_in_float16),
    Row("stored_pass", "decoupled_triton", _fits_triton),
    Row("stored_pass", "decoupled_xla", _always),
    Row("regenerated_pass", "decoupled_regenerated_triton", _fits_regenerating),
    Row("regenerated_pass", "decoupled_xla", _always),
    Row("linear_step", "shared_cpu", _fits_cpu),
    Row("recall_of_arrays", "hopper.to_256", _fits_to_256),
    Row("recall_of_arrays", "hopper.to_512", _fits_to_512),
)


def kernel(job: str, case: Case) -> Callable | None:
    """The first kernel in the table that can do this; None if there is none."""
    for row in TABLE:
        if row.job == job and row.fits(case):
            # Kernels are imported only when needed: each takes a while, and some work only on one kind of device.
            return getattr(import_module(f"loadstone.kernels.{row.module}"), job)
    return None


def shared_case(queries: Float[Array, "n d"], outputs: SharedOutputs, precision: str) -> Case:
    """The case of a pass over shared outputs."""
    n, m, d = queries.shape[0], outputs.array.shape[-2], queries.shape[-1]
    return Case(precision, n, m, d, jnp.result_type(queries, outputs.array), outputs.count is not None)


def shared_pass(queries: Float[Array, "n d"], outputs: SharedOutputs, precision: str) -> tuple[Recall, Slope]:
    """Every query against the same outputs."""
    check_shared(queries, outputs)
    run: Pass[SharedOutputs] = _kernel_for("shared_pass", shared_case(queries, outputs, precision))
    return run(queries, outputs, precision)


def stored_pass(queries: Float[Array, "rows d"], outputs: StoredOutputs, precision: str) -> tuple[Recall, Slope]:
    """Each query against its outputs, which are stored."""
    check_stored(queries, outputs.array)
    (rows, d, m), padded = outputs.array.shape, outputs.count is not None
    case = Case(precision, rows, m, d, queries.dtype, padded, held=outputs.array.dtype)
    run: Pass[StoredOutputs] = _kernel_for("stored_pass", case)
    return run(queries, outputs, precision)


def regenerated_pass(
    queries: Float[Array, "rows d"], outputs: RegeneratedOutputs, precision: str
) -> tuple[Recall, Slope]:
    """Each query against its outputs, which are regenerated."""
    (rows, d), padded = queries.shape, outputs.count is not None
    case = Case(precision, rows, outputs.competitors, d, queries.dtype, padded, outputs.law)
    run: Pass[RegeneratedOutputs] = _kernel_for("regenerated_pass", case)
    return run(queries, outputs, precision)


def _kernel_for(job: str, case: Case) -> Pass:
    run = kernel(job, case)
    assert run is not None  # XLA does every pass
    return run
