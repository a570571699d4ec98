"""Families of memories by name. A new one is a file of its own and a line here.

A family is a class of memories with `initial(d, seed)`, whose further arguments are the family's parameters, or a
`Subspace`, whose fields are. As text it reads 'blocks:8'.
"""

from __future__ import annotations

import inspect
from collections import ChainMap
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from loadstone.arguments import instance_of, rank_fraction, rank_of, refuse, whole
from loadstone.families_text import FamilyText, ToldDimension, family_name, family_text, parameter_names
from loadstone.memories.cones import Nonnegative, PositiveSemidefinite
from loadstone.memories.foreign import class_name
from loadstone.memories.full import Full
from loadstone.memories.low_rank import LowRank
from loadstone.memories.masks import RandomMask
from loadstone.memories.memory import Memory
from loadstone.memories.projected import Projected
from loadstone.memories.rounding import Rounded
from loadstone.memories.subspaces.registry import SUBSPACES, arrays_of
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.memories.two_layers import Attention, Gelu, TwoLayers
from loadstone.parameters import made, named
from loadstone.problems.archive import read_npy

Kind = type[Memory] | type[Subspace]

#: Every family, the linear ones of SUBSPACES among them.
FAMILIES: ChainMap[str, Kind] = ChainMap(
    {
        "masked": RandomMask,  # as text; from Python, `Masked` takes any mask
        "nonnegative": Nonnegative,
        "psd": PositiveSemidefinite,
        "relu": TwoLayers,
        "gelu": Gelu,
        "attention": Attention,
        "rounded": Rounded,
    },
    SUBSPACES,  # type: ignore[arg-type]
    {"full": Full, "rank": LowRank},
)
#: Linear families that an .npy file can give, and the parameter that its array is.
_FROM_FILE = {"masked": "mask", "given": "basis"}
#: The oldest files do not name the family: it follows from the names of their arrays.
_UNNAMED = {frozenset(["weights"]): "full", frozenset(["left", "right"]): "rank"}
#: For fewer than d directions, the dimension of a subspace is the rank of a matrix with at most this many rows.
_MOST_SEEN = 2000


class Family(NamedTuple):
    """A class of memories, and the parameters of its `initial`. A subspace is a parameter of `Projected`."""

    kind: type[Memory]
    parameters: Mapping[str, Any]

    def check(self, d: int) -> None:
        """Refuse a dimension in which there is no such family."""
        self.kind.check(d, **self.parameters)


def initial_memory(d: int, kappa: float = 1.0, *, seed: int = 0, family: str | Subspace = "full") -> Memory:
    """A memory before training: every entry of W, or of its factors, drawn from N(0, 1/d^2).

    kappa = 1 gives a full W; kappa < 1 the factors of rank m = round(kappa d), at least 1, as 'rank:m' does. In a
    linear family W is the projection of such a matrix. Non-negative and semidefinite memories start near (1/d) 1 1^T
    and (1/d) I.

    Example:
        >>> loadstone.initial_memory(10, 0.3)
        LowRank(left=float32[10, 3], right=float32[10, 3])
        >>> loadstone.initial_memory(10, family="blocks:2")
        Projected(weights=float32[10, 10], subspace=Blocks(count=2))
    """
    d = whole("d", d, 1, 2**31 - 1)
    resolved = _family(family, d, kappa)
    resolved.check(d)
    return resolved.kind.initial(d, seed, **resolved.parameters)


def check_family(text: str, kappa: float, d: int) -> tuple[str, float]:
    """The family's canonical text, and the rank fraction of its memories; refused if there is no such family of d x d
    memories. 'rank:m' is 'full' of the rank fraction m / d, as in the paper, so that there is one text for it."""
    _family(text, d, kappa, files=False).check(d)
    read = family_text(text, _parameters)
    m = read.values.get("m") if read.name == "rank" else None
    if isinstance(m, int):
        return ("full", m / d) if m < d else ("rank", 1.0)
    return str(read), kappa


def written_family(text: str) -> str:
    """The family's canonical text; the name of a file in it stays as it is given."""
    return text if isinstance(text, str) and text.endswith(".npy") else str(family_text(text, _parameters))


def family_in_records(text: str) -> str:
    """The family's text as records have always written it."""
    return family_text(text, _parameters).in_records()


def subspace_of(family: str | Subspace | Memory, d: int, *, seed: int | None = None) -> Subspace | None:
    """The subspace of a linear family, None for 'full'. Others are refused: there is no exact verdict about them.

    Example:
        >>> from loadstone.memories.families import subspace_of
        >>> subspace_of("blocks:2", 10), subspace_of("full", 10)
        (Blocks(count=2), None)
    """
    d = whole("d", d, 1)
    seed = None if seed is None else whole("seed", seed, 0, 2**64 - 1)
    if isinstance(family, Projected):
        family = family.subspace
    if isinstance(family, Memory):
        kind, subspace = type(family), None
    else:
        resolved = _family(family, d, 1.0)
        resolved.check(d)
        kind, subspace = resolved.kind, resolved.kind.subspace_of_family(d, seed, **resolved.parameters)
    if kind is Full:
        return None
    if subspace is None:
        shown = family if isinstance(family, str) else type(family).__name__
        linear = ", ".join(name for name in FAMILIES if is_linear(name))
        raise refuse("family", shown, f"linear for an exact verdict or a sample ({linear})")
    # With NumPy arrays in full precision: a memory may hold them in less.
    arrays = arrays_of(subspace)
    return type(subspace)(**arrays) if arrays else subspace


def is_linear(text: str) -> bool:
    """Whether a family is full or a subspace, so that there are exact verdicts about it."""
    return issubclass(FAMILIES[family_name(text)], (Full, Projected, Subspace))


def told_dimension(text: str, d: int, directions: int) -> ToldDimension | None:
    """The statistical dimension of a family that theory has no formula for, if only this many directions of the queries
    count; None for an unknown family. A subspace knows its dimension; other classes may define theirs."""
    if family_name(text) not in FAMILIES:
        return None
    family = _family(text, d, 1.0)
    family.check(d)
    standard = written_family(text)
    if "subspace" in family.parameters:
        return ToldDimension(standard, _dimension_seen(text, family.parameters["subspace"], d, directions), True)
    delta = family.kind.statistical_dimension(d, directions, **family.parameters)
    if delta is None:
        raise refuse("family", text, "one whose statistical dimension is known: nothing is predicted for others")
    return ToldDimension(standard, float(delta), False)


def in_file(memory: Memory) -> tuple[str, Mapping[str, Any]]:
    """The text of a memory's family, and the arrays to save."""
    family, arrays = memory.in_file()
    if family is None:
        name = next((name for name, kind in FAMILIES.items() if type(memory) is kind), None)
        if name is None:
            raise refuse("memory", class_name(memory), "of a family in loadstone.memories.families")
        # Older versions read these files, too.
        family = FamilyText(name, (), {}).in_records()
    return family, arrays


def from_file(family: str, arrays: Mapping[str, np.ndarray]) -> Memory:
    """The memory of this family with these saved arrays, or a refusal."""
    family = family or _UNNAMED.get(frozenset(arrays), "")
    kind = FAMILIES.get(family_name(family))
    if kind is None:
        known = ", ".join(FAMILIES)
        raise refuse("file", f"one with {', '.join(arrays)}", f"one with the arrays of a known family ({known})")
    return (Projected if issubclass(kind, Subspace) else kind).loaded(family, arrays)


def _family(family: str | Subspace, d: int, kappa: float, files: bool = True) -> Family:
    """A family with its parameters. 'full' with kappa < 1 is 'rank', as in the paper."""
    kappa = rank_fraction("kappa", kappa)
    instance_of("family", family, (str, Subspace), "one of " + ", ".join(FAMILIES) + ", or a Subspace")
    if isinstance(family, Subspace):
        resolved = Family(Projected, {"subspace": family})
    else:
        resolved = _from_text("rank" if family == "full" and kappa < 1 else family, files)
    if kappa == 1:
        return resolved
    if "m" not in _parameters_of(resolved.kind):
        raise refuse("kappa", kappa, f"1 for the family {family!r}, which has no rank to choose")
    if "m" in resolved.parameters:
        raise refuse("kappa", kappa, f"1 for the family {family!r}, which says its rank itself")
    return Family(resolved.kind, {**resolved.parameters, "m": rank_of(kappa, d)})


def _from_text(text: str, files: bool) -> Family:
    name, _, rest = text.partition(":")
    if rest.endswith(".npy") and name in _FROM_FILE:
        if not files:
            raise refuse("family", text, "one that its name says everything about, because a file can change")
        return Family(Projected, {"subspace": SUBSPACES[name](**{_FROM_FILE[name]: _array(rest)})})
    read = family_text(text, _parameters)
    kind = FAMILIES[read.name]
    if issubclass(kind, Subspace):
        return Family(Projected, {"subspace": made("family", read.name, kind, read.values)})
    for parameter in _parameters_of(kind).values():
        if parameter.name not in read.values and parameter.default is inspect.Parameter.empty:
            raise refuse("family", read.name, f"given with {parameter.name}, which has no default")
    return Family(kind, read.values)


def _parameters(name: str) -> tuple[str, ...]:
    """The names of a family's parameters; refused if there is no such family."""
    kind = named("family", name, FAMILIES)
    return tuple(_parameters_of(kind)) if issubclass(kind, Memory) else parameter_names(kind)


@cache
def _parameters_of(kind: type[Memory]) -> dict[str, inspect.Parameter]:
    """The parameters of `initial` after d and seed."""
    return dict(list(inspect.signature(kind.initial).parameters.items())[2:])


def _array(path: str) -> np.ndarray:
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not a file: give the name of an array (.npy).")
    try:
        return read_npy(path)
    except (ValueError, OSError) as error:
        raise refuse("family", path, f"the name of an array in a .npy file ({error})") from error


def _dimension_seen(text: str, subspace: Subspace, d: int, directions: int) -> int:
    """The dimension of {B W}, W in the subspace and B with so many random rows."""
    n = subspace.dimension(d)
    if directions == d:
        return n
    if n > _MOST_SEEN:
        allowed = f"one of at most {_MOST_SEEN} dimensions (here {n}) with so few answers: give more than d answers"
        raise refuse("family", text, allowed)
    random = np.random.default_rng(0)
    seen = random.standard_normal((directions, d))
    members = (subspace.projected(random.standard_normal((d, d))) for _ in range(n))
    return int(np.linalg.matrix_rank(np.stack([(seen @ member).ravel() for member in members])))
