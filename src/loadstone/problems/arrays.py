"""An instance as plain arrays, all numbers at hand: what proofs are about and files hold."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int

from loadstone.arguments import refuse


@dataclass(frozen=True)
class Arrays:
    """Input n has the target `targets[n]` among its outputs: rows of `outputs`, or of its own `outputs[n]`."""

    inputs: Float32[np.ndarray, "n d"]
    outputs: Float32[np.ndarray, "*n m d"]
    targets: Int[np.ndarray, "n"]

    def __post_init__(self) -> None:
        if self.inputs.ndim != 2 or 0 in self.inputs.shape:
            raise refuse("inputs.shape", self.inputs.shape, "(n, d) with n and d of at least 1")
        for name in ("inputs", "outputs"):
            if getattr(self, name).dtype not in (np.float32, np.float64):
                raise refuse(f"{name}.dtype", str(getattr(self, name).dtype), "float32 or float64")
        n, d = self.inputs.shape
        shape = self.outputs.shape
        if self.outputs.ndim not in (2, 3) or shape[-1] != d or (self.outputs.ndim == 3 and shape[0] != n):
            raise refuse("outputs.shape", shape, f"(m, {d}), or ({n}, m, {d}) where each input has its own outputs")
        if shape[-2] < 2:
            raise refuse("outputs.shape", shape, "at least two outputs, since one has no rival")
        if self.targets.shape != (n,) or self.targets.min() < 0 or self.targets.max() >= shape[-2]:
            raise refuse("targets", f"{self.targets.dtype}{self.targets.shape}", f"{n} places in 0..{shape[-2] - 1}")
        for name in ("inputs", "outputs"):
            if not np.isfinite(getattr(self, name)).all():
                raise refuse(name, "not finite somewhere", "finite everywhere")

    @property
    def own(self) -> bool:
        """Whether each input has outputs of its own (decoupled)."""
        return self.outputs.ndim == 3

    @property
    def target_outputs(self) -> Float32[np.ndarray, "n d"]:
        return self.outputs[np.arange(len(self.targets)), self.targets] if self.own else self.outputs[self.targets]


def read_instance(path: str | Path) -> Arrays:
    """An instance from an .npz: inputs (n, d), outputs (m, d) or (n, m, d), targets (default: output n for input n)."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not a file: give the name of an instance (.npz).")
    try:
        contents, _ = read_archive(path, {"inputs", "outputs", "targets"})
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as an instance: {error}.") from error
    for name in ("inputs", "outputs"):
        if name not in contents:
            raise ValueError(f"{path} has no {name}: an instance holds inputs (n, d) and outputs (m, d) or (n, m, d).")
        if contents[name].dtype.kind not in "fiu" or contents[name].size == 0:
            raise refuse(name, f"{contents[name].dtype}{contents[name].shape}", "an array of numbers")
    inputs, outputs = (_floats(contents[name]) for name in ("inputs", "outputs"))
    if inputs.ndim != 2:
        raise refuse("inputs.shape", inputs.shape, "(n, d)")
    targets = contents.get("targets")
    if targets is None:
        targets = np.arange(len(inputs), dtype=np.int32)
    elif targets.dtype.kind not in "iu":
        raise refuse("targets", f"{targets.dtype}{targets.shape}", "whole numbers, one for each input")
    return Arrays(inputs, outputs, targets.astype(np.int64))


def read_archive(path: str | Path, names: set[str]) -> tuple[dict[str, np.ndarray], set[str]]:
    """Those of the named arrays that an .npz has, and what else it has; or a ValueError that says what is wrong.

    Nothing in it is executed, nothing else in it is read, and its stated size is checked before it is unpacked.
    """
    try:
        # NumPy leaves a file that it cannot read open, so it is opened here.
        with open(path, "rb") as opened:
            file = np.load(opened, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError("it is a single array, not an archive of arrays")
            if len(set(file.files)) != len(file.files):
                raise ValueError("two of its arrays have the same name")
            others = set(file.files) - names
            _check_size(file, names)
            contents = {name: file[name] for name in file.files if name in names}
    except MemoryError:
        raise
    except Exception as error:  # whatever a damaged or hostile archive makes zipfile, zlib or NumPy's parser raise
        raise ValueError(str(error) or type(error).__name__) from error
    strange = [name for name, value in contents.items() if not isinstance(value, np.ndarray)]
    if strange:
        raise ValueError(f"{strange[0]!r} in it is not an array")
    return contents, others


def _check_size(file: np.lib.npyio.NpzFile, names: set[str]) -> None:
    members = {f"{name}.npy" for name in names}
    needed = sum(member.file_size for member in file.zip.infolist() if member.filename in members)
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > free:
        raise ValueError(f"its arrays take {needed} bytes, but only {free} are free")


def _floats(array: np.ndarray) -> np.ndarray:
    """float32 and float64 as they are, so that a proof is about the very numbers given; others as float64."""
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
