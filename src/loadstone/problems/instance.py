"""Instances as files, so that other programs can check our answers."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np
from jaxtyping import Float32

from loadstone.arguments import whole
from loadstone.files import write_whole
from loadstone.frequencies import Frequencies, check_answers
from loadstone.problems.kinds import check_kind, sets_of_outputs
from loadstone.streams.stream import Stream

#: Bytes of separate outputs made at a time while writing.
_PIECE = 2**26
_FLOAT = np.dtype("<f4")


def write_instance(
    path: str | Path,
    kind: str,
    stream: Stream,
    p: int,
    answers: int | None = None,
    frequencies: Frequencies = "uniform",
) -> None:
    """Write the first p associations of a stream as .npz: inputs (p, d) and outputs.

    Outputs are (p, d) for the original problem and (p, p, d) for the others, outputs[mu, rho] being the output
    rho of association mu; the target of association mu is output mu. `about` holds the rest as JSON. With a number of
    answers there are so many outputs instead of p, and targets (p), drawn with `frequencies`.
    """
    kind = check_kind(kind)
    p = whole("p", p, 2)
    answers, frequencies = check_answers(answers, frequencies)
    about: dict[str, object] = {"problem": kind, "d": stream.d, "p": p, "seed": stream.seed, "law": stream.law}
    if answers is not None:
        about |= {"answers": answers, "frequencies": frequencies}
    m = p if answers is None else answers

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            _add(archive, "inputs", (p, stream.d), [np.asarray(stream.inputs(p))])
            if kind == "original":
                _add(archive, "outputs", (m, stream.d), [np.asarray(stream.outputs(m))])
            else:
                _add(archive, "outputs", (p, m, stream.d), _separate_outputs(stream, kind, p, m))
            if answers is not None:
                targets = stream.targets(p, answers, frequencies)
                _add(archive, "targets", (p,), [targets], np.dtype("<i4"))
            text = np.asarray(json.dumps(about))
            _add(archive, "about", (), [text], text.dtype)

    write_whole(path, write)


def _separate_outputs(stream: Stream, kind: str, p: int, m: int) -> Iterator[Float32[np.ndarray, "b m d"]]:
    groups, rows = sets_of_outputs(kind, p), max(1, _PIECE // (4 * m * stream.d))
    # The groups of inputs take turns.
    for turn in range(0, p, groups):
        for first in range(0, min(groups, p - turn), rows):
            block = np.asarray(stream.decoupled_outputs(first, min(rows, groups - first, p - turn - first), m))
            yield np.ascontiguousarray(block.transpose(0, 2, 1))


def _add(
    archive: zipfile.ZipFile,
    name: str,
    shape: tuple[int, ...],
    pieces: Iterable[np.ndarray],
    dtype: np.dtype = _FLOAT,
) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    # A fixed date, so that the same instance gives the same bytes.
    entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    with archive.open(entry, "w", force_zip64=True) as member:
        np.lib.format.write_array_header_1_0(member, header)
        for piece in pieces:
            member.write(np.ascontiguousarray(piece, dtype).tobytes())
