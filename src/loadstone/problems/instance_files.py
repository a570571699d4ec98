"""Instances as .npz files: written so that other programs can check our answers, and read from other programs."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from loadstone.arguments import path_of, refuse
from loadstone.files import write_whole
from loadstone.problems.archive import read_archive
from loadstone.problems.arrays import Arrays


class Pieces(NamedTuple):
    """An array that is written piece by piece, because it may be too large to be held as a whole."""

    shape: tuple[int, ...]
    pieces: Iterable[np.ndarray]
    dtype: np.dtype = np.dtype("<f4")


def write_arrays(path: str | Path, arrays: Mapping[str, Pieces], about: Mapping[str, object]) -> None:
    """Write arrays as .npz, and `about` as JSON in an array of that name. The same arrays give the same bytes."""
    text = np.asarray(json.dumps(about))

    def contents(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, array in {**arrays, "about": Pieces((), [text], text.dtype)}.items():
                _add(archive, name, array)

    write_whole(path, contents)


def _add(archive: zipfile.ZipFile, name: str, array: Pieces) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
    # A fixed date, so that the same instance gives the same bytes.
    entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    with archive.open(entry, "w", force_zip64=True) as member:
        np.lib.format.write_array_header_1_0(member, header)
        for piece in array.pieces:
            member.write(np.ascontiguousarray(piece, array.dtype).tobytes())


def read_instance(path: str | Path) -> Arrays:
    """An instance from an .npz: inputs (n, d), outputs (m, d) or (n, m, d), targets (default: output n for input n).

    Example:
        >>> from loadstone.problems.instance_files import read_instance
        >>> loadstone.Instance(loadstone.Stream(0, 4), 6).write("six.npz")
        >>> read_instance("six.npz")
        Arrays(inputs=float32[6, 4], outputs=float32[6, 4], targets=int64[6])
    """
    if not Path(path_of("path", path)).is_file():
        raise FileNotFoundError(f"{path} is not a file: give the name of an instance (.npz).")
    try:
        contents, _ = read_archive(path, {"inputs", "outputs", "targets"})
    except ValueError as error:
        raise ValueError(
            f"{path} cannot be read as an instance: {error}. An instance is an .npz archive (numpy.savez) of inputs "
            "(n, d), outputs (m, d) or (n, m, d) and, if input n does not go with output n, targets (n)."
        ) from error
    for name in ("inputs", "outputs"):
        if name not in contents:
            raise ValueError(f"{path} has no {name}: an instance holds inputs (n, d) and outputs (m, d) or (n, m, d).")
    inputs, outputs = contents["inputs"], contents["outputs"]
    n, m = (array.shape[-2] if array.ndim > 1 else 0 for array in (inputs, outputs))
    if "targets" not in contents and n > m > 0:
        raise refuse("targets", None, f"given, because {n} inputs and {m} outputs do not pair one to one")
    return Arrays(inputs, outputs, contents.get("targets", np.arange(n)))
