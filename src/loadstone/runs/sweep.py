"""A sweep: every spec of a grid gets its record; specs that have one already are not run again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from loadstone.runs.plan import expected_costs
from loadstone.runs.spec import Spec
from loadstone.runs.store import Store


class SweepError(RuntimeError):
    """The sweep cannot go on; the message says why. Records that were written stay."""


@dataclass
class Progress:
    """The progress of a sweep. Engines report what happens; `watch` shows it.

    total, before: how many specs the sweep has, and how many of them had their record before it began.
    specs: those that are to be run.
    began: when the sweep began, by the monotonic clock.
    done, diverged: how many runs the sweep has recorded, and how many of these diverged.
    lost_workers: how many workers died or disappeared.
    failed: why each failed run failed, by its key.
    current: what each worker is running, in words.
    watch: called with this object whenever something happens.
    """

    total: int
    before: int
    specs: Sequence[Spec]
    began: float = field(default_factory=time.monotonic)
    done: int = 0
    diverged: int = 0
    lost_workers: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    current: dict[str, str] = field(default_factory=dict)
    watch: Callable[["Progress"], None] = lambda progress: None

    def __post_init__(self) -> None:
        self._platform = "cpu"
        #: The expected cost of each spec that is still to be run, by its key.
        self._costs = expected_costs(self.specs, self._platform)
        self._cost_left, self._cost_done = sum(self._costs.values()), 0.0

    def runs_on(self, platform: str) -> None:
        """Use the expected costs on this platform: a run that is long on a CPU may be short on an accelerator."""
        if platform == self._platform:
            return
        self._platform, costs = platform, expected_costs(self.specs, platform)
        self._cost_done = sum(costs.pop(key) for key in costs.keys() - self._costs.keys())
        self._costs, self._cost_left = costs, sum(costs.values())

    def at(self, worker: str, specs: Sequence[Spec]) -> None:
        """Note that a worker has begun to run these specs."""
        more = f" and {len(specs) - 1} more" if len(specs) > 1 else ""
        self.current[worker] = f"{specs[0]}{more}"

    def ended(self, spec: Spec, status: str | None, why: str = "") -> None:
        """Note that a run has ended: with a record of this status, or, if it is None, failed for the reason `why`."""
        if status is None:
            self.failed[spec.key] = f"{spec}: {why}"
        else:
            self.done += 1
            self.diverged += status == "diverged"
            self.failed.pop(spec.key, None)
        cost = self._costs.pop(spec.key, 0.0)
        self._cost_left -= cost
        self._cost_done += cost
        self.watch(self)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the pace so far, with runs weighted by their expected length; None before one has ended."""
        return self.seconds * max(0.0, self._cost_left) / self._cost_done if self._cost_done > 0 else None


Engine = Callable[[Sequence[Spec], Store, Progress], None]


@dataclass(frozen=True)
class Outcome:
    """How a sweep ended. `complete` means that every spec has its record in the store.

    total, before, done, diverged, failed, lost_workers: see Progress.
    missing: how many specs have no record.
    quarantined: how many damaged records were moved to quarantine.
    seconds: how long the sweep took.
    stopped: why the engine stopped early, or ''.
    """

    total: int
    before: int
    done: int
    diverged: int
    missing: int
    failed: dict[str, str]
    lost_workers: int
    quarantined: int
    seconds: float
    stopped: str

    @property
    def complete(self) -> bool:
        return self.missing == 0


def run_sweep(
    specs: Sequence[Spec], store: Store, engine: Engine, watch: Callable[[Progress], None] = lambda progress: None
) -> Outcome:
    """Let an engine run the specs that have no record; a damaged record is moved to quarantine, its spec run again."""
    store.check_writable()
    store.tidy()
    specs = list(dict.fromkeys(specs))
    aside, stopped = len(store.quarantined()), ""
    missing = [spec for spec in specs if store.get(spec.key) is None]
    progress = Progress(len(specs), len(specs) - len(missing), missing, watch=watch)
    if missing:
        watch(progress)
        try:
            engine(missing, store, progress)
        except SweepError as error:
            stopped = str(error)
    # Read every new record once more: what counts is what the store holds, not what an engine reports.
    left = {spec.key for spec in missing if store.get(spec.key) is None}
    left |= set(store.missing([spec.key for spec in specs]))
    quarantined = len(store.quarantined()) - aside
    failed = {key: why for key, why in progress.failed.items() if key in left}
    return Outcome(
        len(specs), progress.before, progress.done, progress.diverged, len(left), failed, progress.lost_workers,
        quarantined, progress.seconds, stopped,
    )  # fmt: skip
