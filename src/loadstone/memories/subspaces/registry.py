"""Linear families by name, and how subspaces are saved and loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from loadstone.arguments import refuse
from loadstone.families_text import text_of_family
from loadstone.memories.subspaces.given import Given
from loadstone.memories.subspaces.masked import Blocks, Diagonal, Masked
from loadstone.memories.subspaces.patterned import Circulant, Skew, Symmetric, Traceless
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.parameters import made, made_from_text, named

SUBSPACES: dict[str, type[Subspace]] = {
    "symmetric": Symmetric,
    "traceless": Traceless,
    "skew": Skew,
    "masked": Masked,
    "blocks": Blocks,
    "diagonal": Diagonal,
    "circulant": Circulant,
    "given": Given,
}
#: Parameters that are arrays, and cannot be given in a text.
ARRAYS = ("mask", "basis")


def name_of(subspace: Subspace) -> str:
    """The text of a subspace, such as 'blocks:8', without parameters that are arrays."""
    name = next((name for name, kind in SUBSPACES.items() if type(subspace) is kind), None)
    if name is None:
        raise refuse("family", type(subspace).__name__, "one of " + ", ".join(SUBSPACES))
    return name if arrays_of(subspace) else str(text_of_family(name, subspace))


def arrays_of(subspace: Subspace) -> dict[str, np.ndarray]:
    """The parameters that are arrays."""
    names = [field.name for field in fields(subspace) if field.name in ARRAYS]  # type: ignore[arg-type]
    return {name: np.asarray(getattr(subspace, name)) for name in names}


def subspace_from(text: str, arrays: Mapping[str, np.ndarray], d: int) -> Subspace:
    """The subspace with this name and these arrays, or a refusal if there is none for d x d matrices."""
    kind = named("family", text.partition(":")[0], SUBSPACES)
    subspace = made("family", text, kind, arrays) if arrays else made_from_text("family", text, SUBSPACES)
    subspace.check(d)
    return subspace
