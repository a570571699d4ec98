"""Run HiGHS on the hard instances, beside our solver: python benchmarks/hard/run.py [--seconds 60] [--only 'full-*']

Each instance becomes the linear program 'all margins are at least 1' in float64, its rows scaled to length one, for the
HiGHS that comes with SciPy. Another solver takes its place in `highs`: it gets a matrix A, and says whether A x >= 1
has a solution, within a time limit. Proofs are checked before they count. Times are those of the processor, because a
machine may be busy.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

import loadstone
from loadstone.memories.subspaces.registry import ARRAYS, subspace_from
from loadstone.problems.arrays import Arrays
from loadstone.proofs.certificate import check_proof

HERE = Path(__file__).parent
STATUS = {0: "storable", 1: "time limit", 2: "not storable", 4: "numerical trouble"}


def read(path: Path):
    """The arrays of a proof, its family or None, and its verdict."""
    with np.load(path) as file:
        arrays = Arrays(file["inputs"], file["outputs"], file["targets"])
        name, given = str(file["family"]), {name: file[name] for name in ARRAYS if name in file}
        family = None if name == "full" else subspace_from(name, given, arrays.inputs.shape[1])
        return arrays, family, str(file["verdict"])


def size_of(path: Path) -> int:
    """Numbers in the matrix of its linear program."""
    arrays, family, _ = read(path)
    d = arrays.inputs.shape[1]
    return len(arrays.targets) * (arrays.outputs.shape[-2] - 1) * (d * d if family is None else family.dimension(d))


def rows_of(arrays: Arrays, family) -> np.ndarray:
    """One row of length one for each margin, in the coordinates of W along an orthonormal basis of the family."""
    n, d = arrays.inputs.shape
    axes = None if family is None else family.axes(d).reshape(-1, d * d)
    rows = []
    for mu, target in enumerate(arrays.targets):
        outputs = np.asarray(arrays.outputs[mu] if arrays.decoupled else arrays.outputs, float)
        away = np.delete(outputs[target] - outputs, target, axis=0)
        block = np.einsum("mi,j->mij", away, arrays.inputs[mu].astype(float)).reshape(len(away), -1)
        rows.append(block if axes is None else block @ axes.T)
    matrix = np.concatenate(rows)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def highs(matrix: np.ndarray, seconds: float) -> str:
    """Whether matrix x >= 1 has a solution."""
    options = {"time_limit": seconds}
    right, free = -np.ones(len(matrix)), (None, None)
    found = linprog(np.zeros(matrix.shape[1]), -matrix, right, bounds=free, method="highs", options=options)
    return STATUS.get(found.status, str(found.status))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="time limit for HiGHS on one instance")
    parser.add_argument("--out", default=HERE / "highs.json")
    parser.add_argument("--only", default="*", help="pattern of names")
    asked = parser.parse_args()
    table = []
    for path in sorted(HERE.glob(f"{asked.only}.npz"), key=size_of):
        arrays, family, verdict = read(path)
        assert check_proof(path).valid, path
        matrix = rows_of(arrays, family)
        times = [time.process_time()]
        ours = str(loadstone.decide(arrays, family=family or "full").verdict)
        times.append(time.process_time())
        theirs = highs(matrix, asked.seconds)
        our_seconds, seconds = np.diff([*times, time.process_time()]).round(3).tolist()
        row = {"name": path.stem, "d": arrays.inputs.shape[1], "facts": len(arrays.targets), "rows": len(matrix)}
        row |= {"unknowns": matrix.shape[1], "proved": verdict, "loadstone": ours, "loadstone_seconds": our_seconds}
        table.append(row | {"highs": theirs, "highs_seconds": seconds})
        Path(asked.out).write_text(json.dumps({"seconds": asked.seconds, "rows": table}, indent=1) + "\n")
        print("| {name} | {facts} | {rows} x {unknowns} | {proved} | {loadstone}, {loadstone_seconds:.2f} s |"
              " {highs}, {highs_seconds:.1f} s |".format(**table[-1]), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
