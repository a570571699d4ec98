"""How many small problems are trained together on an accelerator, and how many rows their arrays are filled up to.

A program for every p would take longer to compile than to run, so the arrays of an accelerator have few sizes. And one
small problem alone would leave it idle, so several train as one program. On a CPU neither pays, and a run that is
trained alone has the same last digits whatever is run beside it.
"""

from __future__ import annotations

#: Above this d a run is long beside its compilation.
_PADDED = 512
#: Arrays that are filled up have so many rows at least; above so many, filling up to a power of two takes its time.
_FEW_ROWS, _MANY_ROWS = 512, 16_384
#: So many problems train together at most, with so many products a step (original) or so many stored numbers
#: (decoupled) together. Few sizes: a batch of another size is compiled anew.
_BATCHES, _BATCH_PRODUCTS, _BATCH_NUMBERS = (25, 16, 8, 4, 2, 1), 4.2e10, 5e8
#: From this p d on an original problem keeps an accelerator busy by itself.
_LARGE = 450_000


def padded_rows(problem: str, p: int, d: int, platform: str) -> int | None:
    """To how many rows to fill up the arrays of a problem, 'original' or 'decoupled'. None: as many as there are.

    Fused passes skip what is padding, so the original problem has one size an octave until what is done with each row
    besides takes its time. The decoupled problem has to store its padding: two sizes an octave from 1536 on.
    """
    if platform == "cpu" or d > _PADDED:
        return None
    octave = 2 ** (p - 1).bit_length()
    whole_octaves = problem == "original" and octave <= _MANY_ROWS
    step = max(_FEW_ROWS, octave if whole_octaves else octave // 4)
    return -(-p // step) * step


def batch_size(problem: str, p: int, d: int, hold: str, platform: str) -> int:
    """How many problems of this size to train together. `hold` says how decoupled outputs are held: where they are
    regenerated, a problem trains alone."""
    rows = padded_rows(problem, p, d, platform)
    if rows is None or hold == "regenerated" or (problem == "original" and p * d > _LARGE):
        return 1
    most = _BATCH_PRODUCTS if problem == "original" else _BATCH_NUMBERS
    return next((size for size in _BATCHES if size * rows**2 * d <= most), 1)
