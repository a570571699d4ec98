"""How many small problems are trained together on an accelerator, and to how many rows their arrays are padded.

A program for every p would take longer to compile than to run, so arrays on an accelerator have few sizes. One small
problem alone would leave it idle, so several are trained as one program. On a CPU neither helps, and training alone
gives the same last digits whatever else is run.
"""

from __future__ import annotations

from loadstone.problems.kinds import is_grouped
from loadstone.tasks.checked_spec import CheckedSpec

#: Above this d a run takes long compared with its compilation.
_PADDED = 512
#: Padded arrays have at least the first number of rows; above the second, padding to a power of two costs too much.
_FEW_ROWS, _MANY_ROWS = 512, 16_384
#: Decoupled outputs on a CPU are padded to at least this many rows.
_FEWEST_ROWS = 128
#: Sizes of batches, few because each has to be compiled; and for a whole batch the most products a step (original) or
#: stored numbers (decoupled).
_BATCHES, _BATCH_PRODUCTS, _BATCH_NUMBERS = (25, 16, 8, 4, 2), 4.2e10, 5e8
#: From this p d on, one original problem alone keeps an accelerator busy.
_LARGE = 450_000


def padded_rows(problem: str, p: int, d: int, platform: str) -> int | None:
    """To how many rows to pad the arrays of a problem, 'original' or 'decoupled'. None: not at all.

    Fused passes skip padding, so the original problem has one size an octave, until the other work on each row takes
    too long. The decoupled problem has to store its padding: two sizes an octave from 1536 on.
    """
    if platform == "cpu" or d > _PADDED:
        return None
    octave = 2 ** (p - 1).bit_length()
    whole_octaves = problem == "original" and octave <= _MANY_ROWS
    step = max(_FEW_ROWS, octave if whole_octaves else octave // 4)
    return -(-p // step) * step


def padded_rows_of_few_passes(problem: str, p: int) -> int | None:
    """The same for a search of few passes on a CPU. The program of a small problem takes longer to compile than to run,
    so small problems share one. None: not padded."""
    if p > _FEW_ROWS:
        return None
    # The fused pass skips padding; decoupled outputs are stored and read with it.
    return _FEW_ROWS if problem == "original" else max(_FEWEST_ROWS, 2 ** (p - 1).bit_length())


def batch_size(problem: str, p: int, d: int, hold: str, platform: str) -> int:
    """How many problems of this size to train together. `hold` is how decoupled outputs are held: a problem whose
    outputs are regenerated trains alone."""
    rows = padded_rows(problem, p, d, platform)
    if rows is None or hold == "regenerated" or (problem == "original" and p * d > _LARGE):
        return 1
    most = _BATCH_PRODUCTS if problem == "original" else _BATCH_NUMBERS
    return next((size for size in _BATCHES if size * rows**2 * d <= most), 1)


def rows_of(spec: CheckedSpec, platform: str) -> int | None:
    """To how many rows the arrays of a search are padded; None: not at all. Padding needs as many outputs as inputs."""
    if spec.answers is not None or is_grouped(spec.problem):
        return None
    rows = padded_rows(spec.problem, spec.p, spec.d, platform)
    if rows is None and spec.solver == "lbfgs":
        return padded_rows_of_few_passes(spec.problem, spec.p)
    return rows


def searches_together(spec: CheckedSpec, platform: str) -> int:
    """How many searches with this program (seeds and loads) are trained together, if this is the largest of them."""
    if not spec.is_iterative or spec.answers is not None or is_grouped(spec.problem):
        return 1
    return batch_size(spec.problem, spec.p, spec.d, spec.hold, platform)
