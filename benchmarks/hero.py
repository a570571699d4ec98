"""Store as many facts as a language model of 7 billion parameters has room for in one of its matrices, and prove it.

    python benchmarks/hero.py --folder hero --seconds 540

The original problem at d = 4096 with 780 000 facts (0.9 of the predicted capacity), by L-BFGS, in pieces: call it again
with the same arguments until it says that it has ended. A piece goes on with the search from its checkpoint. When the
search ends, W is saved. The next piece proves every margin (proofs/streamed.py), and writes record.json: W's hash, the
smallest margin, what is proved of it, passes, seconds, device. If some margin is not proved, the search goes on for a
few passes (with more digits, if it ended for lack of them), and so on. A GPU of 139 GiB is needed for the default size;
smaller sizes run anywhere.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from pathlib import Path

# The problem takes most of the memory of the card.
os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.95")

import jax
import numpy as np

import loadstone
from loadstone.files import write_whole
from loadstone.problems.budget import Budget
from loadstone.problems.facts import Facts
from loadstone.proofs.streamed import streamed_bound
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve
from loadstone.solvers.solver import automatic_precision
from loadstone.solvers.stop import Limits
from loadstone.theory.capacity import capacity_associations

#: Precisions of passes, from the fastest to that with most digits.
LADDER = ("float16", "split", "float32", "float64")


def write_json(path: Path, record: dict) -> None:
    write_whole(path, lambda file: file.write(json.dumps(record, indent=1).encode()))


def precision_of(asked: argparse.Namespace, number: int) -> str:
    """That of the last search, or the next one if the last search had too few digits to go on."""
    if number == 1:
        return asked.precision
    last = json.loads((asked.folder / f"search-{number - 1}.json").read_text())
    higher = LADDER[LADDER.index(last["precision"]) + 1 :]
    return higher[0] if last["status"] == Status.OUT_OF_DIGITS and higher else last["precision"]


def searched(problem: Facts, asked: argparse.Namespace, number: int) -> bool:
    """One piece of search number `number`; whether it has ended. The first ends when every margin is positive in the
    precision of its pass, each later one goes on from the memory of the last for a few passes."""
    folder = asked.folder
    start = loadstone.load(memory_file(folder, number - 1)) if number > 1 else None
    passes, precision = asked.more if number > 1 else None, precision_of(asked, number)
    began = time.perf_counter()

    def tell(passes: int, loss: float, accuracy: float) -> None:
        seconds = time.perf_counter() - began
        print(f"search {number}, pass {passes}: loss {loss:.6f}, accuracy {accuracy:.8f}, {seconds:.0f} s", flush=True)

    found = solve(
        problem, start, solver="lbfgs", stop="exact" if number == 1 else "none", limits=Limits(passes, asked.seconds),
        precision=precision, progress=tell, checkpoint=folder / f"search-{number}.npz",
    )  # fmt: skip
    about = {"status": found.status.value, "passes": found.passes, "seconds": round(found.seconds, 1)}
    about |= {"precision": precision, "loss": found.loss.tolist(), "accuracy": found.accuracy.tolist()}
    print(f"search {number}: {found.status.value} after {found.passes} passes and {found.seconds:.0f} s", flush=True)
    if found.status == Status.OUT_OF_TIME:
        return False
    loadstone.save(memory_file(folder, number), found.memory)
    write_json(folder / f"search-{number}.json", about)
    return True


def proved(problem: Facts, asked: argparse.Namespace, number: int) -> dict:
    """What is proved about the memory that search number `number` ended with."""
    weights = np.asarray(loadstone.load(memory_file(asked.folder, number)).matrix(), np.float32)
    began, spoken = time.perf_counter(), [0.0]

    def tell(done: int) -> None:
        if time.perf_counter() - spoken[0] > 10:
            spoken[0] = time.perf_counter()
            print(f"{done} margins after {spoken[0] - began:.0f} s", flush=True)

    found = streamed_bound(problem, weights, watch=tell)
    norm = float(np.linalg.norm(weights.astype(np.float64)))
    return {
        "sha256 of W (float32, by rows)": hashlib.sha256(weights.tobytes()).hexdigest(),
        "norm of W": norm,
        "violations or unproved": found.unproved,
        "smallest margin": found.margin,
        "every margin is at least": found.bound,
        "the same for W of unit norm": found.bound / norm,
        "associations that needed float64": found.in_float64,
        "seconds of the proof": round(time.perf_counter() - began, 1),
    }


def memory_file(folder: Path, number: int) -> Path:
    return folder / f"memory-{number}.safetensors"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--d", type=int, default=4096)
    parser.add_argument("--p", type=int, default=780_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("hero"))
    parser.add_argument("--seconds", type=float, default=540.0, help="of a piece of the search")
    parser.add_argument("--precision", default=automatic_precision(), choices=LADDER, help="of the first passes")
    parser.add_argument("--more", type=int, default=6, help="passes of a further search if some margin is not proved")
    parser.add_argument("--budget", default="130GiB")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    asked.budget = Budget.parse(asked.budget)
    record = asked.folder / "record.json"
    if record.exists():
        print(f"{record} is there: it has ended.")
        return
    began = time.perf_counter()
    problem = loadstone.original(loadstone.Stream(asked.seed, asked.d), asked.p, budget=asked.budget)
    jax.block_until_ready(problem.outputs)
    print(f"{asked.p} facts, d = {asked.d}: made in {time.perf_counter() - began:.0f} s", flush=True)
    ended = [number for number in range(1, 100) if memory_file(asked.folder, number).exists()]
    number = max(ended, default=0)
    attempt = asked.folder / f"proof-{number}.json"
    if number == 0 or attempt.exists():
        searched(problem, asked, number + 1)
        return
    proof = proved(problem, asked, number)
    write_json(attempt, proof)
    print(json.dumps(proof, indent=1))
    if proof["violations or unproved"]:
        print(f"{proof['violations or unproved']} facts are not proved to be stored: the search goes on.")
        return
    searches = [json.loads((asked.folder / f"search-{one}.json").read_text()) for one in range(1, number + 1)]
    predicted = float(capacity_associations(asked.d))
    about = {"problem": "original", "d": asked.d, "p": asked.p, "seed": asked.seed, "law": "gaussian"}
    about |= {"predicted capacity": round(predicted), "share of it": round(asked.p / predicted, 4)}
    about |= {"command": f"python benchmarks/hero.py --d {asked.d} --p {asked.p} --seed {asked.seed}"}
    machine = {"device": jax.devices()[0].device_kind, "jax": jax.__version__, "loadstone": loadstone.__version__}
    total = {"passes": sum(one["passes"] for one in searches), "seconds": sum(one["seconds"] for one in searches)}
    write_json(record, about | machine | total | {"proof": proof, "searches": searches})
    print(f"{record} is written: it has ended.")


if __name__ == "__main__":
    main()
