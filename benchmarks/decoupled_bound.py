"""What bounds the decoupled pass on a GPU: the present kernels beside candidates for better ones, and beside kernels
that leave out a part of the work.

    python benchmarks/decoupled_bound.py --out benchmarks/decoupled_bound.json

Every side is checked: four fields against the present pass, a few associations against float64 on the host, with and
without padding, and regenerated numbers to the last bit. Then all sides of a case take turns in one process; a round is
a few passes, and medians are reported, as bytes or normals a second. A side that fails says why and does not stop the
others. --small runs the same on a CPU, in the interpreter of the kernels.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
from decoupled_made import Made, made_recall
from decoupled_stored import Stored, stored_recall

from loadstone.problems.embeddings import decoupled_vectors
from loadstone.problems.passes import decoupled_triton
from loadstone.problems.recall import Recall
from loadstone.problems.stream import Stream

STEPS, ROUNDS, THREADS = 8, 7, 12
FIELDS = Recall._fields
#: Associations that are checked against float64, and outputs that are taken for padding there.
CHECKED, PADDING = 6, 37
#: Largest relative error of a field, in the norm over associations.
TOLERANCE = 2e-6

_MADE = [
    Made(tile=4, splits=8), Made(tile=8, splits=8), Made(tile=4, splits=1), Made(tile=4, splits=4),
    Made(tile=8, splits=3), Made(tile=4, splits=8, pair=False), Made(tile=8, splits=8, pair=False),
    Made(tile=4, splits=8, added=True), Made(tile=8, splits=8, added=True), Made(tile=4, splits=8, multiplied=1),
    Made(tile=4, splits=8, multiplied=1, added=True), Made(tile=8, splits=8, multiplied=2, added=True),
    Made(tile=2, splits=8), Made(tile=16, warps=4, splits=4), Made(tile=16, warps=2, splits=4),
]  # fmt: skip
_MADE_LESS = {
    f"{name}, tile {tile}": Made(tile=tile, splits=8, **less)
    for tile in (4, 8)
    for name, less in {
        "only generation": {"scored": False},
        "only words and scores, no table": {"transform": "trivial"},
        "only table and scores, no words": {"words": "trivial"},
        "only scores": {"words": "trivial", "transform": "trivial"},
        "only words": {"transform": "trivial", "scored": False},
        "only table": {"words": "trivial", "scored": False},
    }.items()
}
_STORED = [
    Stored("tensor", 64, 4, 3, ahead=False), Stored("tensor", 64, 4, 4, ahead=False),
    Stored("tensor", 64, 4, 2, ahead=False), Stored("tensor", 64, 8, 3, ahead=False),
    Stored("tensor", 128, 4, 3, ahead=False), Stored("tensor", 128, 8, 2, ahead=False),
    Stored("tensor", 128, 8, 3, ahead=False), Stored("tensor", 32, 2, 3, ahead=False),
    Stored("tensor", 64, 4, 3, splits=2, ahead=False), Stored("tensor", 64, 4, 3, splits=4, ahead=False),
    Stored("tensor", 64, 4, 3, ahead=False, evict="evict_first"), Stored("lanes", 64, 4), Stored("lanes", 64, 8),
    Stored("lanes", 64, 4, ahead=False), Stored("lanes", 64, 4, splits=4, ahead=False),
    Stored("lanes", 128, 8, ahead=False),
]  # fmt: skip
_LANES = [Stored("lanes", 32, 4), Stored("lanes", 32, 4, ahead=False), Stored("lanes", 64, 8, ahead=False)]
_READ = [Stored("sum", 64, 4, ahead=False), Stored("sum", 64, 4), Stored("sum", 128, 8, splits=2, ahead=False)]

#: name: d, p, how outputs are held, candidates, and sides that leave something out.
CASES: dict[str, tuple[int, int, str, list, dict]] = {
    "float16, d = 150": (150, 2064, "float16", _STORED, {f"only reading, {n}": way for n, way in enumerate(_READ)}),
    "regenerated, d = 150": (150, 2064, "made", _MADE, _MADE_LESS),
    "float32, d = 150": (150, 2064, "float32", _LANES, {"only reading": Stored("sum", 64, 4, ahead=False)}),
    "float16, d = 256": (256, 2048, "float16", [*_STORED[:2], *_STORED[3:6]], {"only reading": _READ[0]}),
    "regenerated, d = 500": (500, 2000, "made", [Made(tile=tile, splits=8) for tile in (1, 2, 4)], {}),
}
_SMALL = {"float16": _STORED[:1] + _STORED[-2:-1], "float32": _LANES[:1], "made": [_MADE[0], _MADE[6]]}


def clocks(work: Callable, operands: tuple) -> str:
    """What the card says of its clocks and its power while it is at work."""
    asked = "--query-gpu=clocks.sm,clocks.mem,clocks.max.sm,power.draw,temperature.gpu"
    try:
        process = subprocess.Popen(["nvidia-smi", asked, "--format=csv,noheader"], stdout=subprocess.PIPE, text=True)
    except OSError as error:
        return str(error)
    while process.poll() is None:
        for _ in range(STEPS):
            found = work(*operands)
        jax.block_until_ready(found)
    return process.communicate()[0].strip()


def ceilings(small: bool) -> dict[str, float]:
    """Bytes a second of XLA's own kernels."""
    vector = jax.random.normal(jax.random.key(1), (10**6 if small else 2**30,), jnp.float32)
    works = {"TB/s of a copy": (lambda a: a + 1, 8), "TB/s of a sum": (jnp.sum, 4)}
    sides = {name: (jax.jit(work), (vector,)) for name, (work, _) in works.items()}
    seconds = timed(sides)
    return {name: works[name][1] * vector.size / seconds[name] / 1e12 for name in sides}


def timed(sides: dict[str, tuple[Callable, tuple]]) -> dict[str, float]:
    """Median seconds of one pass of each side; the sides take turns."""
    rounds: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(ROUNDS + 1):
        for name, (work, operands) in sides.items():
            began = time.perf_counter()
            for _ in range(STEPS):
                found = work(*operands)
            jax.block_until_ready(found)
            if turn:  # the first only warms up
                rounds[name].append((time.perf_counter() - began) / STEPS)
    return {name: statistics.median(seconds) for name, seconds in rounds.items()}


def reference(queries: np.ndarray, outputs: np.ndarray, targets: np.ndarray, count: int) -> list[np.ndarray]:
    """In float64; outputs of shape (n, d, m)."""
    outputs, rows = np.float64(outputs[:, :, :count]), np.arange(len(queries))
    scores = np.einsum("nd,ndm->nm", np.float64(queries), outputs)
    target, rivals = scores[rows, targets], scores.copy()
    rivals[rows, targets] = -np.inf
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(axis=1, keepdims=True)
    return [target, rivals.max(axis=1), (top + np.log(total))[:, 0], np.einsum("nm,ndm->nd", weights / total, outputs)]


def errors(found, expected) -> dict[str, float]:
    pairs = zip(FIELDS, (np.float64(part) for part in found), expected)
    return {name: float(np.linalg.norm(one - other) / np.linalg.norm(other)) for name, one, other in pairs}


def attempted(work: Callable):
    """Its result, or, whatever fails, a sentence: the other sides go on."""
    try:
        return work()
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:600]


class Case:
    """One size: data, what is right, and the sides."""

    def __init__(self, name: str, small: bool):
        d, p, self.hold, ways, less = CASES[name]
        self.d, self.p = (d, p) = (20, 45) if small else (d, p)
        stream = Stream(0, d)
        self.queries = (0.3 * np.random.default_rng(0).standard_normal((p, d))).astype(np.float32)
        self.rows = np.unique(np.linspace(0, p - 1 - PADDING, CHECKED).astype(np.int32))
        made = decoupled_vectors(stream.decoupled_key, jnp.asarray(self.rows, jnp.uint32), p, d, "gaussian")
        self.made = np.asarray(made)
        self.outputs = self.made if self.hold == "made" else self.made.astype(self.hold).astype(np.float32)
        key, stored = stream.decoupled_key, self.hold != "made"
        self.data = (stream.decoupled_outputs(0, p, p).astype(self.hold),) if stored else ()
        if small:
            ways, less = _SMALL[self.hold], dict(list(less.items())[:1])

        def side(way):
            if stored:
                return lambda count, key, queries, data: stored_recall(count, queries, data, way, small)
            return lambda count, key, queries: made_recall(count, key, queries, way, small)

        def present(count, key, queries, *data):
            if stored:
                return decoupled_triton.stored_recall(count, jnp.int32(0), queries, *data, small)
            return decoupled_triton.made_recall(count, key, queries, small)

        self.key, self.less = key, {name: side(way) for name, way in less.items()}
        self.works = {"present": present} | {str(way): side(way) for way in ways} | self.less
        self.described = {name: str(way) for name, way in less.items()}

    def operands(self, count: int, queries: np.ndarray) -> tuple:
        return jnp.int32(count), self.key, jnp.asarray(queries), *self.data

    def compiled(self) -> dict[str, Callable | str]:
        """Every side as a compiled function, or the reason why there is none."""
        operands = self.operands(self.p, self.queries)
        lowered = [attempted(lambda work=work: jax.jit(work).lower(*operands)) for work in self.works.values()]
        with ThreadPoolExecutor(THREADS) as pool:
            ready = pool.map(lambda one: one if isinstance(one, str) else attempted(one.compile), lowered)
            return dict(zip(self.works, ready))

    def checked(self, work: Callable, present: Recall) -> dict[str, object]:
        """Errors against the present pass and against float64, and whether single components come out exactly."""
        found, result = work(*self.operands(self.p, self.queries)), {}
        result["error, of the present pass"] = errors(found, [np.float64(part) for part in present])
        for count in (self.p, self.p - PADDING):
            found = work(*self.operands(count, self.queries))
            expected = reference(self.queries[self.rows], self.outputs, self.rows, count)
            some = [np.asarray(part)[self.rows] for part in found]
            result[f"error, of float64, {count} outputs"] = errors(some, expected)
        # The score of an output with a unit vector is one of its components.
        unit = np.arange(self.p) % self.d
        found = work(*self.operands(self.p, np.eye(self.d, dtype=np.float32)[unit]))
        component = self.outputs[np.arange(len(self.rows)), unit[self.rows]]
        own = component[np.arange(len(self.rows)), self.rows]
        component[np.arange(len(self.rows)), self.rows] = -np.inf
        right = [np.asarray(found[0])[self.rows] == own, np.asarray(found[1])[self.rows] == component.max(axis=1)]
        result["components exact"] = bool(np.all(right))
        worst = max(value for name, part in result.items() if name.startswith("error") for value in part.values())
        result["right"] = bool(worst < TOLERANCE) and result["components exact"]
        return result

    def rate(self, seconds: float) -> dict[str, float]:
        numbers = self.p * self.p * self.d
        if self.hold == "made":
            return {"G normals/s": numbers / seconds / 1e9}
        return {"TB/s": numbers * jnp.dtype(self.hold).itemsize / seconds / 1e12}


def measured(name: str, small: bool) -> dict[str, object]:
    began, spent = time.perf_counter(), {}
    case = Case(name, small)
    spent["prepared after"] = time.perf_counter() - began
    compiled = case.compiled()
    spent["compiled after"] = time.perf_counter() - began
    sides = {side: work for side, work in compiled.items() if not isinstance(work, str)}
    found: dict[str, dict] = {side: {} if side in sides else {"failed": work} for side, work in compiled.items()}
    operands, present = case.operands(case.p, case.queries), None
    for side in list(sides):
        # A kernel that needs more than the chip has fails only here.
        recall = attempted(lambda side=side: jax.block_until_ready(sides[side](*operands)))
        if isinstance(recall, str):
            found[side] = {"failed": recall}
            del sides[side]
            continue
        present = recall if side == "present" else present
        found[side] = {"is": case.described[side]} if side in case.less else case.checked(sides[side], present)
    spent["checked after"] = time.perf_counter() - began
    seconds = timed({side: (work, operands) for side, work in sides.items()})
    for side, one in seconds.items():
        found[side] = {**case.rate(one), "ms": 1e3 * one, **found[side]}
    fastest = min((side for side in sides if side not in case.less), key=seconds.__getitem__)
    said = clocks(sides[fastest], operands)
    spent["measured after"] = time.perf_counter() - began
    size = {"case": name, "p": case.p, "d": case.d, "seconds": spent}
    return size | {"clock, of memory, largest, power, temperature": said, "sides": found}


def shown(result: dict) -> None:
    print(f"\n{result['case']}: {result['seconds']}")
    for side, one in result["sides"].items():
        words = ", ".join(f"{name} {value:.4g}" for name, value in one.items() if isinstance(value, float))
        print(f"  {side}: {words or one.get('failed')}{'' if one.get('right', True) else ' WRONG'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", help="file for the results (JSON), written after every case")
    parser.add_argument("--small", action="store_true", help="tiny sizes in the interpreter, to see that it runs")
    parser.add_argument("--seconds", type=float, default=130, help="after so many no case is begun")
    parser.add_argument("--cases", nargs="*", default=list(CASES), help="some of the cases")
    arguments = parser.parse_args()
    began = time.perf_counter()
    found: dict = {"device": jax.devices()[0].device_kind, "jax": jax.__version__}
    found["ceilings"] = ceilings(arguments.small)
    print(found, flush=True)
    found["cases"] = []
    for name in arguments.cases:
        if time.perf_counter() - began > arguments.seconds:
            found["cases"].append({"case": name, "failed": "no time was left"})
        else:
            try:
                found["cases"].append(measured(name, arguments.small))
                shown(found["cases"][-1])
            except Exception as error:  # the other cases go on
                found["cases"].append({"case": name, "failed": f"{type(error).__name__}: {error}"[:600]})
                print(found["cases"][-1], flush=True)
        if arguments.out:
            with open(arguments.out, "w") as file:
                json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
