"""Facts on real word vectors: what loadstone recalls, and how fast, beside torch.optim.LBFGS and the pseudo-inverse.

    python benchmarks/facts.py [BOOK ...] [--seconds 60] [--threads 1] [--out benchmarks/facts.json]

Without a book, the countries and capitals in examples/; `python examples/cities.py 3000 cities.safetensors` writes a
larger one. The loss, its start and float32 are the same for all searches. PyTorch's stops when every margin is
positive, or when time is up. Whitened means that it gets the facts in loadstone's coordinates, and 'answers first' that
it computes E (U W)^T in place of (E W^T) U^T, as loadstone does where there are fewer answers than facts. Each is run
for 20 seconds and at least three times, in turns, or once if it takes all the time that it may. The fastest counts, and
the first, which also loads what it needs, is given beside it; `processor` is the least processor time. Loadstone's time
includes the screening and the proof, which PyTorch does not give; 'search alone' is L-BFGS without them. Beside other
work PyTorch loses more than loadstone does: `--threads 1` runs all of them on one thread, which is a fair race even
there.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from loadstone.books.book import Book, open_book
from loadstone.books.gathered import Gathered, gather
from loadstone.books.storing import store
from loadstone.memories.full import Full
from loadstone.problems.facts import facts
from loadstone.problems.numpy_pass import margins_of
from loadstone.solvers.coordinates import whiten
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits

EXAMPLES = Path(__file__).parent.parent / "examples"
MOST_PASSES, FEWEST_ROUNDS, ENOUGH_SECONDS = 5000, 3, 20.0


def pseudo_inverse(given: Gathered | Book, seconds: float) -> np.ndarray:
    inputs, outputs = (part.astype(np.float64) for part in (given.inputs, given.outputs))
    return np.linalg.lstsq(inputs, outputs[given.targets])[0].T


def searched(given: Gathered | Book, seconds: float) -> np.ndarray:
    d = given.inputs.shape[1]
    problem = facts(given.inputs, given.outputs, targets=given.targets)
    found = solve(problem, Full(np.zeros((d, d), np.float32)), limits=Limits(MOST_PASSES, seconds))
    return np.asarray(found.memory.matrix(), np.float64)


def torch_raw(given: Gathered | Book, seconds: float) -> np.ndarray:
    return _torch(given.inputs, given.outputs, given.targets, seconds)


def torch_whitened(given: Gathered | Book, seconds: float, answers_first: bool = False) -> np.ndarray:
    d = given.inputs.shape[1]
    better = whiten(facts(given.inputs, given.outputs, targets=given.targets), Full(np.zeros((d, d), np.float32)))
    inputs, outputs = (np.asarray(part) for part in (better.problem.inputs, better.problem.outputs))
    found = _torch(inputs, outputs, given.targets, seconds, answers_first)
    return np.asarray(better.unwhiten(Full(found)).matrix(), np.float64)


def _torch(
    inputs: np.ndarray, outputs: np.ndarray, targets: np.ndarray, seconds: float, answers_first: bool = False
) -> np.ndarray:
    """The best W on the way, judged by the scores that the search computes anyway."""
    e, u = (torch.from_numpy(np.array(part, np.float32)) for part in (inputs, outputs))
    t = torch.from_numpy(np.array(targets, np.int64))
    weights = torch.zeros(e.shape[1], e.shape[1], requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [weights], lr=1, max_iter=MOST_PASSES, max_eval=MOST_PASSES, history_size=20, line_search_fn="strong_wolfe",
        tolerance_grad=0, tolerance_change=0,
    )  # fmt: skip
    end, best, most = time.perf_counter() + seconds, weights.detach().clone(), -1

    class EndedError(Exception):
        pass

    def closure() -> torch.Tensor:
        nonlocal best, most
        optimiser.zero_grad()
        scores = e @ (u @ weights).T if answers_first else e @ weights.T @ u.T
        stored = int((scores.argmax(dim=1) == t).sum())
        if stored > most:
            best, most = weights.detach().clone(), stored
        if stored == len(t) or time.perf_counter() > end:
            raise EndedError
        loss = torch.nn.functional.cross_entropy(scores, t)
        loss.backward()
        return loss

    try:
        optimiser.step(closure)
    except EndedError:
        pass
    return best.numpy().astype(np.float64)


def measured(name: str, given: Gathered | Book, seconds: float) -> dict[str, object]:
    ours = _gathered(given)
    ways: dict[str, Callable[[], np.ndarray]] = {
        "loadstone": lambda: store(ours, seconds).book.weights,
        "loadstone, search alone": lambda: searched(given, seconds),
        "torch.optim.LBFGS, whitened": lambda: torch_whitened(given, seconds),
        "torch.optim.LBFGS, whitened, answers first": lambda: torch_whitened(given, seconds, answers_first=True),
        "torch.optim.LBFGS, raw": lambda: torch_raw(given, seconds),
        "pseudo-inverse": lambda: pseudo_inverse(given, seconds),
    }
    taken: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    stored_by = dict.fromkeys(ways, 0)
    began = time.perf_counter()
    while len(taken["loadstone"]) < FEWEST_ROUNDS or time.perf_counter() - began < ENOUGH_SECONDS:
        for way, run in ways.items():
            at, processor = time.perf_counter(), time.process_time()
            weights = run()
            taken[way].append((time.perf_counter() - at, time.process_time() - processor))
            stored_by[way] = max(stored_by[way], int((margins_of(weights, given) > 0).sum()))
        if max(at_all for at_all, _ in taken["loadstone"]) > seconds:
            break
    rows = {way: _row(stored_by[way], numbers) for way, numbers in taken.items()}
    n, d = given.inputs.shape
    return {"case": name, "facts": n, "answers": len(given.answers), "d": d, "limit": seconds, "rows": rows}


def _row(stored: int, taken: list[tuple[float, float]]) -> dict[str, float]:
    least, processor = (round(min(part), 4) for part in zip(*taken))
    return {"stored": stored, "first": round(taken[0][0], 3), "seconds": least, "processor": processor}


def _gathered(given: Gathered | Book) -> Gathered:
    if isinstance(given, Gathered):
        return given
    return Gathered(given.subjects, given.answers, given.targets, given.inputs, given.outputs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("books", nargs="*", help="books that loadstone wrote")
    parser.add_argument("--seconds", type=float, default=60.0, help="most seconds of a search")
    parser.add_argument("--threads", type=int, help="threads of PyTorch and of NumPy; default: what they choose")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    capitals = gather(EXAMPLES / "capitals.csv", EXAMPLES / "capitals.glove.txt", ("country", "capital"))
    cases = {"capitals": capitals} | {Path(book).stem: open_book(book) for book in arguments.books}
    results = []
    for name, given in cases.items():
        with threadpool_limits(arguments.threads):
            results.append(measured(name, given, arguments.seconds) | {"threads": arguments.threads})
        print(json.dumps(results[-1]), flush=True)
        if arguments.out:
            Path(arguments.out).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
