"""What is still to be run, and in which order: the longest first, runs of one program one after another."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

from loadstone.experiments.spec import Spec

#: Small problems train together on an accelerator, which one alone would leave idle: so many at most, with so many
#: products a step (original) or so many stored numbers (decoupled) together.
_BATCHES, _BATCH_PRODUCTS, _BATCH_NUMBERS = (25, 16, 8, 4, 2, 1), 4.2e10, 5e8
#: From this p d on an original problem keeps an accelerator busy by itself.
_LARGE = 450_000
#: Above this d a run is long beside its compilation.
_PADDED = 512
#: Arrays that are filled up have so many rows at least; above so many, filling up to a power of two takes its time.
_FEW_ROWS, _MANY_ROWS = 512, 16_384


#: Seconds of a run, of a step, and of a step for each of p^2 d numbers, which the decoupled problem reads from memory
#: and the original one makes out of the cache. Measured on one processor core, and on an H200.
_RUN, _STEP = 0.02, {"cpu": 5e-5, "gpu": 1e-4}
_NUMBER = {
    ("cpu", "original"): 6e-11, ("cpu", "decoupled"): 2.5e-10,
    ("gpu", "original"): 1.2e-14, ("gpu", "decoupled"): 1.3e-12,
}  # fmt: skip


def cost(spec: Spec, platform: str) -> float:
    """Seconds on a 'cpu', or else on an accelerator: roughly, to put long runs first and to guess the time left."""
    if spec.solver == "capacity":
        return 0.05 + 0.3 * (spec.d / 20) ** 5
    where = "cpu" if platform == "cpu" else "gpu"
    passes = spec.passes + (0 if spec.is_iterative else 1)
    return _RUN + passes * (_STEP[where] + _NUMBER[where, spec.problem] * spec.p**2 * spec.d)


#: Seconds to compile a program.
_COMPILATION = 1.0


def expected_costs(specs: Sequence[Spec], platform: str) -> dict[str, float]:
    """The cost of each spec with its share of the compilation of its program, by its key."""
    programs = {spec: program(spec, platform) for spec in specs}
    alike = Counter(programs.values())
    compiled = {one: _COMPILATION / count if one.is_iterative else 0.0 for one, count in alike.items()}
    return {spec.key: cost(spec, platform) + compiled[programs[spec]] for spec in specs}


def batch_size(spec: Spec, platform: str) -> int:
    """How many runs of this program to train together, seeds and loads, if this one is the largest of them. On a CPU it
    hardly pays, and a run alone has the same last digits whatever is run beside it."""
    rows = padded_rows(spec, platform)
    if not spec.is_iterative or rows is None or spec.hold == "regenerated":
        return 1
    if spec.problem == "original" and spec.p * spec.d > _LARGE:
        return 1
    most = _BATCH_PRODUCTS if spec.problem == "original" else _BATCH_NUMBERS
    # Few sizes, and the same for all runs of a program: a batch of another size is compiled anew.
    return next((size for size in _BATCHES if size * rows**2 * spec.d <= most), 1)


def program(spec: Spec, platform: str) -> Spec:
    """What runs have in common that share compiled programs: all but the seed, and p up to padding."""
    return replace(spec.without_seed, p=padded_rows(spec, platform) or spec.p)


def padded_rows(spec: Spec, platform: str) -> int | None:
    """To how many rows to fill up the arrays of a run on an accelerator, where a program for every p would take longer
    to compile than to run. None: as many as there are.

    Fused passes skip what is padding, so the original problem has one size an octave until what is done with each row
    besides takes its time. The decoupled problem has to store its padding: two sizes an octave from 1536 on.
    """
    if platform == "cpu" or spec.d > _PADDED:
        return None
    octave = 2 ** (spec.p - 1).bit_length()
    whole_octaves = spec.problem == "original" and octave <= _MANY_ROWS
    step = max(_FEW_ROWS, octave if whole_octaves else octave // 4)
    return -(-spec.p // step) * step


#: Short runs of one program go to a worker together, so many at most; batches so many.
_JOB_RUNS, _JOB_BATCHES = 16, 6


def job_size(spec: Spec, platform: str, fair_share: int) -> int:
    """How many runs of this program to hand out at a time: no more than a fair share, so that none is left idle."""
    batch = batch_size(spec, platform)
    if batch > 1:
        return batch * max(1, min(_JOB_BATCHES, fair_share // batch))
    return max(1, min(_JOB_RUNS, int(_job_seconds(platform) / cost(spec, platform)), fair_share))


def is_short(spec: Spec, platform: str) -> bool:
    """Whether a worker that is at such a run should have its next job already."""
    return cost(spec, platform) < _job_seconds(platform)


def _job_seconds(platform: str) -> float:
    # An accelerator is idle between jobs until the last record is made: jobs are long there.
    return 1.0 if platform == "cpu" else 20.0


def writers(platform: str) -> int:
    """How many records a worker finishes and writes at a time, while the next batch computes."""
    # A CPU that computes has one core to spare at most.
    return 1 if platform == "cpu" else 4


class Plan:
    """Specs waiting to be run by a number of workers."""

    def __init__(self, specs: Iterable[Spec], workers: int = 1) -> None:
        self.workers = workers
        self._specs = list(specs)
        self._count = len(self._specs)
        #: By program, from when the first worker has said what it runs on.
        self._waiting: dict[Spec, deque[Spec]] = {}
        self._platform: str | None = None
        #: Each of these goes out by itself.
        self._alone: deque[Spec] = deque()
        self._taken_by: Counter[Spec] = Counter()

    def __len__(self) -> int:
        return self._count

    @property
    def has_suspects(self) -> bool:
        """Whether the next job is a run that may have brought a worker down."""
        return bool(self._alone)

    def take(self, last: Spec | None, platform: str) -> list[Spec]:
        """The next job for a worker whose last run was `last`: of the same program if any wait, because it is compiled;
        else of the longest that no other worker is at; else of the longest."""
        if self._platform is None:
            self._platform = platform
            for spec in sorted(self._specs, key=lambda spec: (-cost(spec, platform), str(spec))):
                self._waiting.setdefault(self._program(spec), deque()).append(spec)
        if self._alone:
            self._count -= 1
            return [self._alone.popleft()]
        if not self._waiting:
            return []
        chosen = None if last is None else self._program(last)
        if chosen not in self._waiting:
            # They wait in the order of their length.
            self.leave(last)
            free = (one for one in self._waiting if self._taken_by[one] <= 0)
            chosen = next(free, next(iter(self._waiting)))
            self._taken_by[chosen] += 1
        specs = self._waiting[chosen]
        # Jobs get smaller towards the end: half of an equal share of what is left.
        size = job_size(specs[0], platform, len(self) // (2 * self.workers))
        taken = [specs.popleft() for _ in range(min(len(specs), size))]
        if not specs:
            del self._waiting[chosen]
        self._count -= len(taken)
        return taken

    def leave(self, last: Spec | None) -> None:
        """A worker whose last run was `last` is at its program no more."""
        if last is not None:
            self._taken_by[self._program(last)] -= 1

    def put_back(self, specs: Sequence[Spec], alone: bool = False) -> None:
        """These are to be run after all, `alone` if one of them may have brought a worker down."""
        if alone:
            self._alone.extend(specs)
        else:
            for spec in reversed(specs):
                self._waiting.setdefault(self._program(spec), deque()).appendleft(spec)
        self._count += len(specs)

    def _program(self, spec: Spec) -> Spec:
        return program(spec, self._platform or "cpu")
