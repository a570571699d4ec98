"""The memory budget: how many bytes a problem may take."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

import jax

from loadstone.arguments import refuse, set_as, whole
from loadstone.free_memory import half_of_free_memory, in_units

_UNITS = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


#: The largest budget: no machine has more memory, and sizes in bytes are 63-bit numbers.
MOST_BYTES = 2**63 - 1


def _default_bytes() -> int:
    """Half of the memory that the device in use has free."""
    statistics = jax.devices()[0].memory_stats() if jax.default_backend() != "cpu" else None
    if statistics:
        return (statistics["bytes_limit"] - statistics["bytes_in_use"]) // 2
    return half_of_free_memory()


@dataclass(frozen=True)
class Budget:
    """How much memory one problem may take, its pass included.

    bytes: the number of bytes; by default half of the free memory of the device.
    """

    bytes: int = field(default_factory=_default_bytes)

    def __post_init__(self) -> None:
        set_as(self, "bytes", whole("budget", self.bytes, 1, MOST_BYTES))

    @classmethod
    def parse(cls, text: str) -> "Budget":
        """A budget from words such as '8GiB', '500 MB' or a number of bytes."""
        match = re.fullmatch(r"([0-9]{1,30}(?:\.[0-9]{1,30})?)\s*([A-Za-z]*)", text.strip())
        size = Fraction(match[1]) * _UNITS[match[2]] if match and match[2] in _UNITS else 0
        if not 0 < size <= MOST_BYTES:
            raise refuse("budget", text, "a size above 0 such as 8GiB, 500MB or a number of bytes, of less than 2^63")
        return cls(max(1, round(size)))

    def allows(self, needed: int) -> bool:
        """Whether this many bytes are within the budget."""
        return needed <= self.bytes

    def require(self, needed: int, what: str) -> None:
        """Refuse when `what` needs more than the budget."""
        if not self.allows(needed):
            raise ValueError(
                f"budget is {in_units(self.bytes)}, but {what} of this size needs {in_units(needed)}: "
                "raise the budget, or lower p or d."
            )
