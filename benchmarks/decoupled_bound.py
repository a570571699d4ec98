"""What bounds the decoupled passes on a GPU: the kernels beside others in use, and beside kernels that leave out a part
of the work.

    python benchmarks/decoupled_bound.py --out benchmarks/decoupled_bound.json

Every side that leaves out nothing is checked: four fields against the first side, a few associations against float64 on
the host, with and without padding, and single components to the last bit. Then all sides of a case take turns in one
process; a round is a few passes, and medians are reported, as bytes or normals a second. A side that fails says why and
does not stop the others. --small runs the same on a CPU, in the interpreter of the kernels.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from types import ModuleType
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from loadstone.kernels import decoupled_float16_triton, decoupled_regenerated_triton, decoupled_triton
from loadstone.kernels.recall import Recall
from loadstone.streams.embeddings import decoupled_vectors
from loadstone.streams.stream import Stream

STEPS, ROUNDS, THREADS = 8, 7, 12
FIELDS = Recall._fields
#: Associations that are checked against float64, and outputs that are taken for padding there.
CHECKED, PADDING = 6, 37


def trivial_words(key, counter):
    return counter[0] * np.uint32(2654435761) + counter[1], counter[1] * np.uint32(2246822519) ^ counter[0]


def trivial_normal(words, table_ref, interpret):
    return lax.bitcast_convert_type((words >> np.uint32(9)) | np.uint32(0x3F800000), jnp.float32)


def summed(carry, made, queries, inside, is_target):
    """Instead of scores and a pull, the sum of all outputs."""
    return *carry[:3], tuple(pull + part for pull, part in zip(carry[3], made))


def summed_stream(tile_of, queries, count, own_index, tile, group):
    def consume(step, pulls):
        numbers = [part.astype(jnp.float32) for part in tile_of(step * tile, step * tile + jnp.arange(tile))]
        sums = (part.reshape(-1, tile // group, group).sum(axis=2) for part in numbers)
        return tuple(pull + part for pull, part in zip(pulls, sums))

    nothing = tuple(jnp.zeros((query.shape[0], tile // group), jnp.float32) for query in queries)
    pulls = lax.fori_loop(0, lax.div(count + (tile - 1), tile), consume, nothing)
    return *[jnp.float32(0)] * 3, [pull.sum(axis=1) for pull in pulls]


#: A side: the file of the kernel, and what is replaced in it.
Side = tuple[ModuleType, dict]
_NO_WORDS, _NO_TABLE, _NO_SCORES = {"threefry": trivial_words}, {"_normal": trivial_normal}, {"_weighed": summed}
_PARTS_OF_MADE: dict[str, Side] = {
    name: (decoupled_regenerated_triton, less)
    for name, less in {
        "only generation": _NO_SCORES,
        "only words and scores, no table": _NO_TABLE,
        "only table and scores, no words": _NO_WORDS,
        "only scores": _NO_WORDS | _NO_TABLE,
        "only words": _NO_TABLE | _NO_SCORES,
        "only table": _NO_WORDS | _NO_SCORES,
    }.items()
}
_MADE: dict[str, Side] = {"the kernel": (decoupled_regenerated_triton, {})} | {
    f"tile of {tile}": (decoupled_regenerated_triton, {"tile_and_warps": lambda half, tile=tile: (tile, 1)})
    for tile in (2, 4, 8)
}
_SINGLES: dict[str, Side] = {"products in float32": (decoupled_triton, {})}
_HALVES: dict[str, Side] = {"products in tensor cores": (decoupled_float16_triton, {})} | _SINGLES
_READING: dict[str, Side] = {"only reading": (decoupled_triton, {"_stream": summed_stream})}

#: name: d, p, how outputs are held, sides, and sides that leave something out.
CASES: dict[str, tuple[int, int, str, dict[str, Side], dict[str, Side]]] = {
    "float16, d = 150": (150, 2064, "float16", _HALVES, _READING),
    "regenerated, d = 150": (150, 2064, "regenerated", _MADE, _PARTS_OF_MADE),
    "float32, d = 150": (150, 2064, "float32", _SINGLES, _READING),
    "float16, d = 256": (256, 2048, "float16", _HALVES, _READING),
    "regenerated, d = 500": (500, 2000, "regenerated", _MADE, {}),
    "float16, d = 64": (64, 2048, "float16", _HALVES, {}),
    "float16, d = 100": (100, 2048, "float16", _HALVES, {}),
}


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
        d, p, self.hold, sides, less = CASES[name]
        self.d, self.p = (d, p) = (20, 45) if small else (d, p)
        stream = Stream(0, d)
        self.queries = (0.3 * np.random.default_rng(0).standard_normal((p, d))).astype(np.float32)
        self.rows = np.unique(np.linspace(0, p - 1 - PADDING, CHECKED).astype(np.int32))
        made = decoupled_vectors(stream.decoupled_key, jnp.asarray(self.rows, jnp.uint32), p, d, "gaussian")
        self.made = np.asarray(made)
        self.outputs = self.made if self.hold == "regenerated" else self.made.astype(self.hold).astype(np.float32)
        self.data = () if self.hold == "regenerated" else (stream.decoupled_outputs(0, p, p).astype(self.hold),)
        if small:
            sides, less = dict(list(sides.items())[:2]), dict(list(less.items())[:1])
        self.key, self.small, self.less, self.sides = stream.decoupled_key, small, less, sides | less

    def recall(self, file: ModuleType, count, key, queries, *data) -> Recall:
        if self.hold == "regenerated":
            return file.regenerated_recall(count, key, queries, self.small)
        return file.stored_recall(count, jnp.int32(0), queries, *data, self.small)

    def lowered(self, file: ModuleType, replaced: dict) -> jax.stages.Lowered:
        jax.clear_caches()  # a kernel may be remembered with other parts
        with mock.patch.multiple(file, **replaced) if replaced else nullcontext():
            return jax.jit(partial(self.recall, file)).lower(*self.operands(self.p, self.queries))

    def operands(self, count: int, queries: np.ndarray) -> tuple:
        return jnp.int32(count), self.key, jnp.asarray(queries), *self.data

    def compiled(self) -> dict[str, Callable | str]:
        """Every side as a compiled function, or the reason why there is none."""
        lowered = [attempted(partial(self.lowered, *side)) for side in self.sides.values()]
        with ThreadPoolExecutor(THREADS) as pool:
            ready = pool.map(lambda one: one if isinstance(one, str) else attempted(one.compile), lowered)
            return dict(zip(self.sides, ready))

    def tolerance(self) -> float:
        """Largest relative error of a field, in the norm over associations: of float32, or of tensor cores, which cut
        off when they add 16 products."""
        return 2.0**-23 * self.p / 16 if self.hold == "float16" else 2e-6

    def checked(self, work: Callable, other: Recall) -> dict[str, object]:
        """Errors against another side and against float64, and whether single components come out exactly."""
        found, result = work(*self.operands(self.p, self.queries)), {}
        result["error, of the first side"] = errors(found, [np.float64(part) for part in other])
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
        result["right"] = bool(worst < self.tolerance()) and result["components exact"]
        return result

    def rate(self, seconds: float) -> dict[str, float]:
        numbers = self.p * self.p * self.d
        if self.hold == "regenerated":
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
    operands, first = case.operands(case.p, case.queries), None
    for side in list(sides):
        # A kernel that needs more than the chip has fails only here.
        recall = attempted(lambda side=side: jax.block_until_ready(sides[side](*operands)))
        if isinstance(recall, str):
            found[side] = {"failed": recall}
            del sides[side]
            continue
        first = recall if first is None else first
        found[side] = {} if side in case.less else case.checked(sides[side], first)
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
