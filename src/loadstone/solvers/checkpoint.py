"""Checkpoints: the state of a search in a file, from which it goes on as if it had never stopped.

The file is an .npz without pickles: the arrays of the state, and a manifest in JSON that says which search they belong
to. It is written whole or not at all, and each array has a checksum.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Shaped, UInt32

from loadstone.arguments import positive, refuse
from loadstone.compiling import compiled
from loadstone.deadline import Deadline
from loadstone.files import check_writable, write_whole
from loadstone.hosts import agreed, is_first
from loadstone.problems.archive import read_archive
from loadstone.problems.problem import Problem
from loadstone.trees import parameters

_FORMAT = "loadstone checkpoint 1"
#: Seconds between two writings at least; and writing takes at most one part in this many of the time.
_SECONDS, _PARTS = 60.0, 20
_MANIFEST = "manifest"


@dataclass(frozen=True)
class Saved:
    """The contents of a checkpoint.

    arrays: the state, by the paths of its parts.
    precisions: that of the state, and those that come after it.
    seconds: how long the search has taken.
    """

    arrays: dict[str, np.ndarray]
    precisions: tuple[str, ...]
    seconds: float


class Checkpoint:
    """A file for one search; `identity` says in words which one."""

    def __init__(self, path: str | Path, identity: Mapping[str, str]) -> None:
        self.path, self.identity = check_writable(path), dict(identity)
        self._since_written, self._cost = Deadline(), 0.0

    def read(self) -> Saved | None:
        """What the file holds; None if there is none yet. A file of another search, or a damaged one, is refused."""
        exists = self.path.exists()
        if agreed(exists) != exists:
            raise refuse("checkpoint", str(self.path), "in a folder that all processes see")
        if not exists:
            return None
        try:
            manifest = json.loads(str(self._members([_MANIFEST])[_MANIFEST]))
            if manifest.get("format") != _FORMAT:
                raise ValueError(f"its format is {manifest.get('format')!r}, not {_FORMAT!r}")
            stated = {name: manifest["identity"][name] for name in self.identity}
            if stated == self.identity:
                members = self._members([key for key, _, _ in manifest["arrays"].values()])
                read = lambda key, dtype, shape: members[key].view(np.dtype(str(dtype))).reshape(shape)  # noqa: E731
                arrays = {name: read(*described) for name, described in manifest["arrays"].items()}
                return Saved(arrays, tuple(map(str, manifest["precisions"])), positive("seconds", manifest["seconds"]))
        # What a hostile manifest can make the readers of JSON and of types raise.
        except (ValueError, KeyError, TypeError, AttributeError, SyntaxError, RecursionError) as error:
            raise refuse("checkpoint", str(self.path), f"an undamaged checkpoint ({error})") from error
        name = next(name for name, wanted in self.identity.items() if stated[name] != wanted)
        differs = f"its {name} is {stated[name]}, not {self.identity[name]}"
        raise refuse("checkpoint", str(self.path), f"one of this search: {differs}")

    def _members(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        members, _ = read_archive(self.path, names)
        return members

    def write(self, state: Any, precisions: Sequence[str], seconds: float) -> None:
        """Put a state into the file, in place of the last one. Of several processes the first writes for all."""
        clock = Deadline()
        if is_first():
            arrays = flattened(jax.device_get(state))
            described = {name: (f"{i}", str(part.dtype), part.shape) for i, (name, part) in enumerate(arrays.items())}
            manifest = {
                "format": _FORMAT, "identity": self.identity, "arrays": described,
                "precisions": list(precisions), "seconds": seconds,
            }  # fmt: skip
            # As bytes, because NumPy's files do not know every type of number.
            members = {f"{i}": part.reshape(-1).view(np.uint8) for i, part in enumerate(arrays.values())}
            members[_MANIFEST] = np.asarray(json.dumps(manifest))
            write_whole(self.path, lambda file: np.savez(file, allow_pickle=False, **members))
        self._since_written, self._cost = Deadline(), clock.taken

    def is_due(self) -> bool:
        """Whether the last state was written long enough ago."""
        return self._since_written.taken >= max(_SECONDS, _PARTS * self._cost)


def checkpoint_of(
    path: str | Path, problem: Problem, memory: Any, solver: Any, stop: str, precisions: Sequence[str]
) -> Checkpoint:
    """The checkpoint of a search that stores a problem, starting from a memory."""
    # The fingerprint of a problem does not depend on the devices that it is spread over. Stored outputs follow from the
    # rest, and devices have other parts of them.
    pieces = getattr(problem, "pieces", problem)
    return Checkpoint(
        path,
        {
            "version of loadstone": str(import_module("loadstone").__version__),
            "solver": _without_addresses(repr(solver)),
            "stop rule": stop,
            "precision": ", ".join(precisions),
            "problem": fingerprint(getattr(pieces, "source", pieces), pieces.description),
            # The family of a memory: its class, and what else the class needs to know, such as an activation.
            "start": fingerprint(memory, _without_addresses(f"{type(memory).__name__} {parameters(memory)}".strip())),
        },
    )


def _without_addresses(text: str) -> str:
    """Addresses of functions differ from process to process."""
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def flattened(state: Any) -> dict[str, np.ndarray]:
    """The arrays of a state by their paths."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(state)
    return {jax.tree_util.keystr(path): np.asarray(leaf, order="C") for path, leaf in leaves}


def rebuilt(saved: Saved, like: Any, path: Path) -> Any:
    """The saved state as a tree like this one, whose arrays must have the same shapes and types."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    names = [jax.tree_util.keystr(path_in_tree) for path_in_tree, _ in leaves]
    wanted = {name: f"{leaf.dtype}{leaf.shape}" for name, (_, leaf) in zip(names, leaves)}
    kept = {name: f"{array.dtype}{array.shape}" for name, array in saved.arrays.items()}
    for name in sorted(wanted.keys() | kept.keys()):
        if wanted.get(name) != kept.get(name):
            differs = f"{name[1:]} is {kept.get(name, 'missing')} there and {wanted.get(name, 'missing')} here"
            raise refuse("checkpoint", str(path), f"one of this search ({differs})")
    return jax.tree.unflatten(structure, [saved.arrays[name] for name in names])


def fingerprint(tree: Any, name: str | None = None) -> str:
    """The identity of a problem or a memory: words (default: its type), and 64 bits for its arrays.

    Every array is summed, word by word, with weights that depend on the position. That is done where the array lies,
    because the vectors of a large problem are too many to bring to the host. Zeros do not count, so neither does
    padding at the end, and whole numbers have no rounding, so neither does the way in which an array is spread over
    devices.
    """
    words = [0, 0]
    for number, leaf in enumerate(jax.tree.leaves(tree)):
        for side, word in enumerate(_words(jnp.asarray(leaf))):
            words[side] = (words[side] * 0x01000193 + int(word) + number) % 2**32
    return f"{name or type(tree).__name__} ({words[0]:08x}{words[1]:08x})"


@compiled
def _words(array: Shaped[Array, "..."]) -> tuple[UInt32[Array, ""], UInt32[Array, ""]]:
    bits = _bits(array)
    index = jnp.zeros(bits.shape, jnp.uint32)
    for axis, size in enumerate(bits.shape):
        index = index * jnp.uint32(size % 2**32) + jax.lax.broadcasted_iota(jnp.uint32, bits.shape, axis)
    weights = _mixed(index), _mixed(index ^ jnp.uint32(0x9E3779B9))
    first, second = (jnp.sum(bits * (weight | jnp.uint32(1)), dtype=jnp.uint32) for weight in weights)
    return first, second


def _bits(array: Shaped[Array, "..."]) -> UInt32[Array, "..."]:
    """The bits of the numbers as 32-bit words, two for each number of 64 bits."""
    size = array.dtype.itemsize
    if array.dtype == jnp.bool_ or jnp.issubdtype(array.dtype, jnp.integer) and size < 4:
        return array.astype(jnp.uint32)
    return jax.lax.bitcast_convert_type(array, jnp.uint16 if size == 2 else jnp.uint32).astype(jnp.uint32)


def _mixed(index: UInt32[Array, "..."]) -> UInt32[Array, "..."]:
    """Maps neighbouring numbers to unrelated ones (the finaliser of MurmurHash3, by A. Appleby)."""
    index = (index ^ (index >> 16)) * jnp.uint32(0x85EBCA6B)
    index = (index ^ (index >> 13)) * jnp.uint32(0xC2B2AE35)
    return index ^ (index >> 16)
