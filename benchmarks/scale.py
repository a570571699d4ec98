"""How the original problem scales over several GPUs: memory, operations and bytes moved, on paper.

    python benchmarks/scale.py

prints the tables of docs/scale.md, which a test compares with these numbers. Nothing here is measured but the speed of
one GPU; the speeds of the connections are those of their makers.
"""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.problems.original import original_bytes
from loadstone.problems.spread_streams import ring_bytes
from loadstone.theory.capacity import capacity_associations

#: TFLOP/s of a pass at d = 1024 on one H200 (benchmarks/gpu.json), its memory, and the share of it that can be used.
SPEED, MEMORY, USABLE = 378e12, 139 * 2**30, 0.9
#: Bytes a second that a GPU sends while it receives as many: NVLink of an H200 (900 GB/s in both directions together,
#: NVIDIA's data sheet), and a network of 400 Gbit/s for each GPU.
LINKS = {"NVLink": 450e9, "network": 50e9}
#: Scores that a block of a pass has on a GPU (problems/facts.py), and its least number of rows.
BLOCK_SCORES, BLOCK_ROWS = 200_000_000, 128
#: L-BFGS holds two matrices of the size of W for each pair, and four more. A compiled program has them three times: as
#: they come in, as they go out, and while it works. At d = 16384 a GPU has no room for 20 pairs.
PAIRS, MORE, TIMES = {4096: 20, 8192: 20, 16384: 5}, 4, 3
#: Passes of a search at 0.9 of the capacity, as expected from smaller sizes.
PASSES = 45
DIMENSIONS, LOAD = (4096, 8192, 16384), 0.9
NUMBERS_OF_DEVICES = (1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True)
class Size:
    """p associations of dimension d over so many devices, outputs held whole by each, or passed round in a ring."""

    d: int
    p: int
    devices: int = 1
    ring: bool = False

    @property
    def each(self) -> int:
        return -(-self.p // self.devices)

    def operations(self) -> float:
        """Of one pass: scores and pulls, then queries and gradient."""
        return 4 * self.p**2 * self.d + 4 * self.p * self.d**2

    def seconds(self) -> float:
        """Of one pass, without what is moved."""
        return self.operations() / (self.devices * SPEED)

    def memory(self) -> float:
        """Bytes that a device needs."""
        competing = self.each if self.ring else self.p
        block = min(self.each, max(BLOCK_ROWS, BLOCK_SCORES // competing))
        vectors = ring_bytes if self.ring else original_bytes
        return vectors(self.each, self.d, block, competing) + self.solver_bytes()

    def solver_bytes(self) -> float:
        """Of these, what L-BFGS needs: the same on every device."""
        return 4 * TIMES * (2 * PAIRS[self.d] + MORE) * self.d**2

    def fits(self) -> bool:
        return self.memory() <= USABLE * MEMORY

    def summed_bytes(self) -> float:
        """What a device sends in a pass for sums: the gradient (added up and handed round in pieces), three scores an
        association."""
        return (self.devices - 1) / self.devices * (2 * 4 * self.d**2 + 3 * 4 * self.p)

    def ring_bytes(self) -> float:
        """What a device sends in a pass if outputs go round: a part of them in every round."""
        return 4 * self.each * self.d * self.devices if self.ring else 0.0

    def hidden(self, link: str) -> float:
        """Time of the work of one round over the time in which a part of the outputs moves on. Above 1 nobody waits."""
        return (4 * self.each**2 * self.d / SPEED) / (4 * self.each * self.d / LINKS[link])


def size_of(d: int, devices: int = 1, ring: bool = False) -> Size:
    return Size(d, round(LOAD * float(capacity_associations(d)) / 1e4) * 10_000, devices, ring)


def fewest(d: int, ring: bool) -> Size | None:
    """The least number of devices, a power of two, that have the memory."""
    sizes = (size_of(d, devices, ring) for devices in NUMBERS_OF_DEVICES)
    return next((size for size in sizes if size.fits()), None)


def memory_table() -> str:
    lines = [
        "| d | facts | a copy of the outputs | L-BFGS | GPUs, outputs whole | GPUs, ring |",
        "|---|---|---|---|---|---|",
    ]
    for d in DIMENSIONS:
        one = size_of(d)
        whole, ring = (fewest(d, way) for way in (False, True))
        words = [f"{size.devices} ({size.memory() / 1e9:.0f} GB each)" if size else "none" for size in (whole, ring)]
        solver = f"{PAIRS[d]} pairs, {one.solver_bytes() / 1e9:.0f} GB"
        lines.append(f"| {d} | {_spaced(one.p)} | {4 * one.p * d / 1e9:.0f} GB | {solver} | {words[0]} | {words[1]} |")
    return "\n".join(lines)


def traffic_table() -> str:
    lines = [
        "| d | GPUs | PFLOP a pass and GPU | sums, GB a pass and GPU | ring, GB a pass and GPU "
        "| work of a round / its transfer, NVLink | over a network |",
        "|---|---|---|---|---|---|---|",
    ]
    for d in DIMENSIONS:
        for devices in (16, 128):
            size = size_of(d, devices, ring=True)
            lines.append(
                f"| {d} | {devices} | {size.operations() / devices / 1e15:.3g} | {size.summed_bytes() / 1e9:.2f} "
                f"| {size.ring_bytes() / 1e9:.0f} | {size.hidden('NVLink'):.0f} | {size.hidden('network'):.1f} |"
            )
    return "\n".join(lines)


def time_table() -> str:
    numbers = (1, 16, 128)
    lines = [
        "| d | facts | " + " | ".join(f"a pass, {n} GPU{'s' if n > 1 else ''}" for n in numbers) + " | "
        + " | ".join(f"{PASSES} passes, {n} GPU{'s' if n > 1 else ''}" for n in numbers) + " |",
        "|---|---|" + "---|" * 2 * len(numbers),
    ]  # fmt: skip
    for d in DIMENSIONS:
        sizes = [size_of(d, devices, ring=True) for devices in numbers]
        times = [_time(size.seconds()) for size in sizes] + [_time(PASSES * size.seconds()) for size in sizes]
        times = [text if sizes[i % 3].fits() else f"({text})" for i, text in enumerate(times)]
        lines.append(f"| {d} | {_spaced(sizes[0].p)} | " + " | ".join(times) + " |")
    return "\n".join(lines)


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _time(seconds: float) -> str:
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"


TABLES = (memory_table, time_table, traffic_table)

if __name__ == "__main__":
    print("\n\n".join(table() for table in TABLES))
