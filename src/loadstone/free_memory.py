"""How much memory may be used, and sizes in words."""

from __future__ import annotations

import os


def half_of_free_memory() -> int:
    """Half of the bytes that this machine has free."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def in_units(count: int) -> str:
    """A number of bytes in the largest unit that fits."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 2**power:
            return f"{float(f'{count / 2**power:.3g}'):g} {unit}"
    return f"{count} bytes"
