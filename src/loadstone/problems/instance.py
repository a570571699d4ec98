"""An instance: which associations of a stream are to be stored, and which outputs compete for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from loadstone.arguments import refuse, set_as, whole
from loadstone.compiling import Call
from loadstone.frequencies import Frequencies, check_answers
from loadstone.problems.arrays import Arrays
from loadstone.problems.budget import Budget
from loadstone.problems.decoupled import Regenerated, Stored, decoupled, stored_parts
from loadstone.problems.facts import Facts
from loadstone.problems.grouped import grouped
from loadstone.problems.instance_files import Pieces, write_arrays
from loadstone.problems.kinds import ORIGINAL, check_kind, is_grouped, sets_of_outputs
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.problems.problem import Problem
from loadstone.problems.separate import Separate
from loadstone.problems.spread_streams import spread_decoupled, spread_original
from loadstone.readable import readable
from loadstone.streams.stream import Stream

#: Bytes of separate outputs that are made at a time while they are written.
_PIECE = 2**26


@dataclass
class _Longest:
    """The exact arrays of the longest instance that was asked for; those of shorter ones are slices of them."""

    arrays: Arrays | None = None


@dataclass(frozen=True)
class Instance:
    """The first p associations of a stream, as a problem of some kind.

    stream: where inputs and outputs come from, and their dimension.
    p: how many associations.
    kind: 'original', 'decoupled' or 'groups:8' (problems/kinds.py).
    answers: how many outputs there are; None: as many as inputs, and input mu has output mu as its target.
    frequencies: how often each answer is a target (frequencies.py).
    """

    stream: Stream
    p: int
    _: KW_ONLY
    kind: str = ORIGINAL
    answers: int | None = None
    frequencies: Frequencies = "uniform"
    _longest: _Longest = field(default_factory=_Longest, init=False, repr=False, compare=False)

    __repr__ = readable

    def __post_init__(self) -> None:
        set_as(self, "p", whole("p", self.p, 2, 2**31 - 1))
        set_as(self, "kind", check_kind(self.kind))
        for name, value in zip(("answers", "frequencies"), check_answers(self.answers, self.frequencies)):
            set_as(self, name, value)

    @property
    def d(self) -> int:
        """The dimension of inputs and outputs."""
        return self.stream.d

    @property
    def isotropic(self) -> bool:
        """Whether no direction of the inputs or outputs is special."""
        return self.stream.isotropic

    @property
    def competitors(self) -> int:
        """How many outputs compete for each input."""
        return self.p if self.answers is None else self.answers

    def first(self, p: int) -> Instance:
        """The first p associations of the same stream, be they fewer or more. Both share the arrays that are made."""
        other = replace(self, p=p)
        set_as(other, "_longest", self._longest)
        return other

    def without_arrays(self) -> Instance:
        """An equal instance that has made no arrays, as a cache of results may keep it."""
        return replace(self)

    def arrays(self) -> Arrays:
        """The instance as exact arrays, as verdicts, margins and samples take it."""
        longest = self._longest.arrays
        if longest is None or len(longest.targets) < self.p:
            longest = self._longest.arrays = self._drawn()
        m = self.competitors
        outputs = longest.outputs[: self.p, :m] if longest.decoupled else longest.outputs[:m]
        return Arrays(longest.inputs[: self.p], outputs, longest.targets[: self.p])

    def _drawn(self) -> Arrays:
        p, m = self.p, self.competitors
        # Outputs in float32, centred in float64, and as many intermediate numbers.
        numbers = self.d * (max(p, m) if self.kind == ORIGINAL else p * m)
        Budget().require(28 * numbers, f"a verdict on the {self.kind} problem")
        inputs = np.asarray(self.stream.inputs(p))
        if self.kind == ORIGINAL:
            outputs = np.asarray(self.stream.outputs(m))
        else:
            columns = self.stream.grouped_outputs(p, sets_of_outputs(self.kind, p), m)
            outputs = np.ascontiguousarray(np.asarray(columns).transpose(0, 2, 1))
        own = self.answers is None
        return Arrays(inputs, outputs, np.arange(p) if own else self.stream.targets(p, m, self.frequencies))

    def problem(
        self,
        *,
        hold: str = "auto",
        stored_dtype: str = "float32",
        budget: Budget | None = None,
        rows: int | None = None,
        devices: int | None = None,
    ) -> Problem:
        """The instance as a problem that a search can store.

        hold, stored_dtype: how the outputs of a decoupled problem are held (see `decoupled`).
        budget: how much memory it may take; with devices, on each of them.
        rows: how many rows its arrays have, so that problems of several sizes share one program; default: p.
        devices: over how many devices it is spread; default: it is on one.
        """
        options: dict[str, Any] = {"budget": budget, "answers": self.answers, "frequencies": self.frequencies}
        if devices is not None:
            if is_grouped(self.kind):
                raise refuse("devices", devices, f"left out for {self.kind}: only original and decoupled are spread")
            if self.kind == ORIGINAL:
                return spread_original(self.stream, self.p, devices=devices, **options)
            return spread_decoupled(self.stream, self.p, devices=devices, hold=hold, dtype=stored_dtype, **options)
        if rows is not None:
            return self.in_shape_of(self.first(rows).problem(hold=hold, stored_dtype=stored_dtype, budget=budget))
        if is_grouped(self.kind):
            return grouped(self.stream, self.p, groups=sets_of_outputs(self.kind, self.p), **options)
        if self.kind == ORIGINAL:
            return original(self.stream, self.p, **options)
        return decoupled(self.stream, self.p, hold=hold, dtype=stored_dtype, **options)

    def programs(self, problem: Problem) -> Iterator[Call]:
        """The compiled functions that make a problem of this instance, given its shapes, from the stream."""
        stream, rows = self.stream, problem.inputs.shape[0]
        m = self.answers or rows
        yield from stream.shared_programs(rows)
        if self.kind == ORIGINAL:
            if self.answers is not None:
                yield from stream.shared_programs(m)
        elif self.answers is not None or is_grouped(self.kind):
            yield from stream.decoupled_programs(sets_of_outputs(self.kind, rows), m)
        else:
            yield from stream.target_programs(rows)
            for count in {part.shape[0] for part in stored_parts(problem)}:
                yield from stream.decoupled_programs(count, rows)

    @property
    def has_shapes(self) -> bool:
        """Whether its arrays can have more rows than there are associations. Where several groups of inputs have as
        many outputs as there are inputs, each p has a shape of its own."""
        return self.answers is not None or not is_grouped(self.kind)

    def in_shape_of(self, longer: Problem) -> Problem:
        """These associations as a problem whose arrays have the shape of a longer one of the same stream."""
        if self.answers is None:
            assert isinstance(longer, Facts | Stored | Regenerated) and self.has_shapes
            return padded(longer, self.p)
        # Only problems with as many outputs as inputs can be padded. Facts that occur twice ask for nothing new.
        rows = np.arange(longer.inputs.shape[0]) % self.p
        if isinstance(longer, Separate):
            inputs, outputs, targets = (part[rows] for part in (longer.inputs, longer.outputs, longer.targets))
            return replace(longer, inputs=inputs, outputs=outputs, targets=targets)
        assert isinstance(longer, Facts)
        return replace(longer, inputs=longer.inputs[rows], targets=longer.targets[rows])

    def about(self) -> dict[str, object]:
        """The instance as a dictionary, for messages, files and --json."""
        entries: dict[str, object] = {"problem": self.kind, "d": self.d, "p": self.p}
        entries |= {"seed": self.stream.seed, "law": self.stream.law}
        return entries if self.answers is None else entries | {"answers": self.answers, "frequencies": self.frequencies}

    def write(self, path: str | Path) -> None:
        """Write the instance as .npz: inputs (p, d), outputs and, if there are answers, targets (p).

        Outputs are (m, d) for the original problem, and (p, m, d) for the others, outputs[mu] being those of
        association mu. `about` holds the rest as JSON.
        """
        p, m, d = self.p, self.competitors, self.d
        arrays = {"inputs": Pieces((p, d), [np.asarray(self.stream.inputs(p))])}
        if self.kind == ORIGINAL:
            arrays["outputs"] = Pieces((m, d), [np.asarray(self.stream.outputs(m))])
        else:
            arrays["outputs"] = Pieces((p, m, d), self._separate_outputs())
        if self.answers is not None:
            arrays["targets"] = Pieces((p,), [self.stream.targets(p, m, self.frequencies)], np.dtype("<i4"))
        write_arrays(path, arrays, self.about())

    def _separate_outputs(self) -> Iterator[Float32[np.ndarray, "b m d"]]:
        """The outputs of some inputs at a time, in the order of the inputs."""
        p, m = self.p, self.competitors
        groups, rows = sets_of_outputs(self.kind, p), max(1, _PIECE // (4 * m * self.d))
        # The groups of inputs take turns.
        for turn in range(0, p, groups):
            for first in range(0, min(groups, p - turn), rows):
                block = np.asarray(self.stream.decoupled_outputs(first, min(rows, groups - first, p - turn - first), m))
                yield np.ascontiguousarray(block.transpose(0, 2, 1))


def write_instance(
    path: str | Path,
    kind: str,
    *,
    stream: Stream,
    p: int,
    answers: int | None = None,
    frequencies: Frequencies = "uniform",
) -> None:
    """Write the first p associations of a stream as .npz (see `Instance.write`).

    Example:
        >>> from loadstone.problems.instance import write_instance
        >>> from loadstone.problems.instance_files import read_instance
        >>> write_instance("six.npz", "decoupled", stream=loadstone.Stream(0, 4), p=6)
        >>> read_instance("six.npz").outputs.shape
        (6, 6, 4)
    """
    Instance(stream, p, kind=kind, answers=answers, frequencies=frequencies).write(path)
