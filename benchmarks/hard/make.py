"""Make the hard instances again: python benchmarks/hard/make.py [NAME ...]

Of each stream the first p facts can be stored, and p + 1 cannot. Both are proved, and the proofs (docs/proofs.md) are
the files, packed as small as their format allows.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import loadstone
from loadstone.memories.families import subspace_of
from loadstone.memories.subspaces.given import Given
from loadstone.proofs.certificate import check_proof, write_proof
from loadstone.tasks.capacity import exact_capacity

HERE = Path(__file__).parent


#: Name, dimension, family, a number of facts near the threshold, and what else there is to say of the instance.
STREAMS: list[tuple[str, int, str, int, dict[str, Any]]] = [
    ("full-8", 8, "full", 22, {}),
    ("full-12", 12, "full", 40, {}),
    ("full-20", 20, "full", 88, {}),
    ("full-30", 30, "full", 168, {}),
    ("decoupled-8", 8, "full", 22, {"kind": "decoupled"}),
    ("decoupled-12-answers-3", 12, "full", 172, {"kind": "decoupled", "answers": 3}),
    ("answers-60", 60, "full", 271, {"answers": 10}),
    ("symmetric-16", 16, "symmetric", 40, {}),
    ("traceless-14", 14, "traceless", 31, {}),
    ("skew-16", 16, "skew", 36, {}),
    ("masked-20", 20, "masked:0.5", 53, {}),
    ("blocks-40", 40, "blocks:5", 77, {}),
    ("diagonal-60", 60, "diagonal", 21, {}),
    ("circulant-60", 60, "circulant", 21, {}),
    ("given-10", 10, "given", 13, {}),
]


def main() -> None:
    for seed, (name, d, family, near, kind) in enumerate(STREAMS):
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        instance = loadstone.Instance(loadstone.Stream(seed, d), near, **kind)
        if family == "given":
            basis = np.random.default_rng(seed).standard_normal((30, d, d)).round(3)
            subspace: Any = Given(basis)
        else:
            subspace = subspace_of(family, d, seed=seed) or "full"
        found = exact_capacity(instance, family=subspace)
        for p in (found.storable, found.not_storable):
            write(name, instance.first(p), subspace, family)


def write(name: str, instance: loadstone.Instance, subspace: Any, family: str) -> None:
    """Decide once more, and write the proof."""
    verdict = loadstone.decide(instance, family=subspace)
    path = HERE / f"{name}-{'yes' if verdict.witness is not None else 'no'}.npz"
    write_proof(path, instance.arrays(), verdict=verdict, about=instance.about() | {"family": family})
    deflate(path)
    assert check_proof(path, instance.arrays()).valid
    print(f"{path.name}: p = {instance.p}, {verdict.verdict}, {path.stat().st_size} bytes, {verdict.seconds:.2f} s")


def deflate(path: Path) -> None:
    """Pack an archive once more, and with dates that do not change."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    main()
