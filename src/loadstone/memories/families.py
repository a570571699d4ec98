"""Families of memories by their names. A new one is a file and a line here.

A family is a class of memories with `initial(d, seed)`, or `initial(d, seed, kappa)` if it has a rank to choose; or it
is a linear one, a `Subspace` whose fields are its parameters. As text it reads 'symmetric' or 'blocks:8'.
"""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from loadstone.arguments import rank_fraction, refuse, whole
from loadstone.memories.cones import Nonnegative, PositiveSemidefinite
from loadstone.memories.full import Full
from loadstone.memories.low_rank import LowRank
from loadstone.memories.masks import RandomMask
from loadstone.memories.memory import Memory
from loadstone.memories.projected import Projected
from loadstone.memories.rounding import RoundedTo
from loadstone.memories.subspaces.registry import SUBSPACES, arrays_of
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.memories.two_layers import Attention, Gelu, Hidden, Relu
from loadstone.parameters import made_from_text, named, text_of

FAMILIES: dict[str, type[Memory] | type[Subspace] | type[RandomMask] | type[Hidden] | type[RoundedTo]] = {
    "full": Full,
    "low rank": LowRank,
    **SUBSPACES,
    "masked": RandomMask,  # as text; from Python, `Masked` takes any mask
    "nonnegative": Nonnegative,
    "psd": PositiveSemidefinite,
    "relu": Relu,
    "gelu": Gelu,
    "attention": Attention,
    "rounded": RoundedTo,
}
#: Linear families that a file can give: what the array in it is.
_FROM_FILE = {"masked": "mask", "given": "basis"}


def initial_memory(d: int, kappa: float = 1.0, seed: int = 0, family: str | Subspace = "full") -> Memory:
    """A memory before training: every entry of W, or of its factors, drawn from N(0, 1/d^2).

    kappa = 1 gives a full W; kappa < 1 the factors of rank m = round(kappa d), at least 1. In a linear family W is the
    projection of such a matrix. Non-negative and semidefinite memories start near (1/d) 1 1^T and (1/d) I.
    """
    d, kappa = whole("d", d, 1), rank_fraction("kappa", kappa)
    found = _family(family, kappa)
    if isinstance(found, type):
        kind: type[Memory] = found
        return kind.initial(d, seed, **({"kappa": kappa} if _has_rank(kind) else {}))
    if isinstance(found, (Hidden, RoundedTo)):
        return found.initial(d, seed)
    return Projected.starting(_in_dimension(found, d, seed), d, seed)


def check_family(text: str, kappa: float, d: int) -> str:
    """The family's text in standard spelling; refused if there is no such family of d x d memories."""
    found = _family(text, kappa, files=False)
    if isinstance(found, type):
        return text
    found.check(d)
    return text_of(text.partition(":")[0], found)


def subspace_of(family: str | Subspace | Memory, d: int, seed: int | None = None) -> Subspace | None:
    """The subspace of a linear family, None for 'full'. Others are refused: there is no exact verdict about them."""
    if isinstance(family, Projected):
        family = family.subspace
    if isinstance(family, Full):
        return None
    found = type(family) if isinstance(family, Memory) else _family(family, 1.0)
    if found is Full:
        return None
    if isinstance(found, (type, Hidden, RoundedTo)):
        shown = family if isinstance(family, str) else type(family).__name__
        linear = ", ".join(name for name in FAMILIES if name == "full" or name in SUBSPACES)
        raise refuse("family", shown, f"linear for an exact verdict or a sample ({linear})")
    return _exact(_in_dimension(found, d, seed))


def is_linear(text: str) -> bool:
    """Whether there are exact verdicts about a family: it is full or a subspace."""
    name = text.partition(":")[0]
    return name == "full" or issubclass(FAMILIES[name], (Subspace, RandomMask))


def _family(family: str | Subspace, kappa: float, files: bool = True) -> Any:
    """A class of memories, a subspace, or how to draw one. 'full' with kappa < 1 is 'low rank', as in the paper."""
    found = family if isinstance(family, Subspace) else _from_text(_with_rank(family, kappa), files)
    if kappa != 1 and not (isinstance(found, type) and _has_rank(found)):
        raise refuse("kappa", kappa, f"1 for the family {family!r}, which has no rank to choose")
    return found


def _with_rank(text: str, kappa: float) -> str:
    return "low rank" if text == "full" and rank_fraction("kappa", kappa) < 1 else text


def _from_text(text: str, files: bool) -> Any:
    name, colon, rest = text.partition(":") if isinstance(text, str) else (text, "", "")
    kind = named("family", name, FAMILIES)
    if rest.endswith(".npy") and name in _FROM_FILE:
        if not files:
            raise refuse("family", text, "one that its name says everything about, because a file can change")
        return SUBSPACES[name](**{_FROM_FILE[name]: _array(rest)})
    if not issubclass(kind, (Subspace, RandomMask, Hidden, RoundedTo)):
        if colon:
            raise refuse("family", text, f"{name} without parameters")
        return kind
    return made_from_text("family", text, FAMILIES)


def _array(path: str) -> np.ndarray:
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not a file: give the name of an array (.npy).")
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise refuse("family", path, f"the name of an array in a .npy file ({error})") from error


def _in_dimension(found: Subspace | RandomMask, d: int, seed: int | None) -> Subspace:
    if isinstance(found, RandomMask):
        if seed is None:
            drawn = "given with a mask: a density needs a seed, as instance_capacity and `loadstone certify` have one"
            raise refuse("family", "masked", drawn)
        return found.drawn(d, seed)
    found.check(d)
    return found


def _exact(subspace: Subspace) -> Subspace:
    """The same subspace with arrays of NumPy, in all their digits: a memory may hold them in fewer."""
    arrays = arrays_of(subspace)
    return type(subspace)(**arrays) if arrays else subspace


@cache
def _has_rank(kind: type[Memory]) -> bool:
    return "kappa" in inspect.signature(kind.initial).parameters
