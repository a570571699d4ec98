"""One training step: loadstone beside PyTorch eager, in turns, on the same instances and the same machine.

Each side runs in a separate process, because the thread pools of the two libraries disturb each other inside one
process; a parent process lets them take turns and reports medians over the rounds. Rates are also given as shares of
this machine's sgemm rate (counting 4 p^2 d operations a step, or a pass alone) and of its memory bandwidth (counting
one read of the outputs a step), both measured in the same rounds. Peak memory is that of a process that does nothing
else.

    python benchmarks/cpu.py [--rounds 15] [--only NAME] [--out benchmarks/cpu.json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time

from loadstone.solvers.gradient import Paper
from loadstone.theory.load import nearest_associations

CASES = {
    # name: problem, d, load or p, seeds, steps a round
    "original d=50, five seeds": ("original", 50, 0.7, 5, 100),
    "original d=100": ("original", 100, 0.7, 1, 100),
    "original d=150": ("original", 150, 0.7, 1, 25),
    "original d=300": ("original", 300, 0.7, 1, 2),
    "decoupled d=100, stored": ("decoupled", 100, 0.7, 1, 5),
}
TARGETS = {
    "original d=50, five seeds": {"ratio": 2.0},
    "original d=100": {"ratio": 1.5, "share of sgemm": 0.6, "pass, share of sgemm": 0.7},
    "original d=150": {"ratio": 1.5, "share of sgemm": 0.6},
    "original d=300": {"ratio": 1.5, "share of sgemm": 0.6},
    "decoupled d=100, stored": {"ratio": 2.0, "share of one read": 0.5},
}


def instances(problem: str, d: int, load: float, seeds: int):
    """Problems and initial memories, the same for both sides."""
    import loadstone

    p = nearest_associations(load, d)
    make = getattr(loadstone, problem)
    return (
        [make(loadstone.Stream(seed, d), p) for seed in range(seeds)],
        [loadstone.initial_memory(d, 1.0, seed=seed) for seed in range(seeds)],
    )


def ours(case: str):
    """A function that does a round of training steps for all seeds of a case."""
    import jax
    import jax.numpy as jnp

    from loadstone.solvers.loop import advance_batch, advance_one, begun, joined
    from loadstone.solvers.search import Program

    problem, d, load, seeds, steps = CASES[case]
    problems, memories = instances(problem, d, load, seeds)
    program = Program(Paper(), "none", "float32", Paper().schedule(), True)
    states = [begun(memory, program) for memory in memories]
    if seeds == 1:
        advance, together, start = advance_one, problems[0], states[0]
    else:
        advance, together, start = advance_batch, joined(problems), joined(states)

    def round_of_steps() -> None:
        jax.block_until_ready(advance(together, start, jnp.int32(steps), program))

    return round_of_steps


def our_pass(case: str):
    """A round of passes alone, without the products with W before and after."""
    import jax

    problem, d, load, seeds, steps = CASES[case]
    problems, _ = instances(problem, d, load, seeds)

    @jax.jit
    def passes(problem, queries):
        def again(_, queries):  # a pass that depends on the last one, so that none is left out
            return queries + 0 * problem.recall(queries).rival[:, None]

        return jax.lax.fori_loop(0, steps, again, queries)

    return lambda: [jax.block_until_ready(passes(one, one.inputs / d)) for one in problems]


def torch_eager(case: str):
    """The same round as a user of PyTorch would write it: autograd, torch.optim.Adam, one seed after another."""
    import numpy as np
    import torch
    import torch.nn.functional as F  # noqa: N812

    problem, d, load, seeds, steps = CASES[case]
    problems, memories = instances(problem, d, load, seeds)
    sets = []
    for instance, memory in zip(problems, memories):
        if problem == "original":
            outputs = torch.tensor(np.asarray(instance.outputs))
        else:
            own = np.concatenate([np.asarray(part) for part in instance.parts])
            outputs = torch.tensor(np.ascontiguousarray(own.transpose(0, 2, 1)))
        sets.append((torch.tensor(np.asarray(instance.inputs)), outputs, np.asarray(memory.weights)))
    places = torch.arange(len(sets[0][0]))
    del problems

    def round_of_steps() -> None:
        for inputs, outputs, weights in sets:
            w = torch.tensor(weights, requires_grad=True)
            optimiser = torch.optim.Adam([w], lr=1e-2)
            for _ in range(steps):
                optimiser.zero_grad()
                queries = inputs @ w.T
                if problem == "original":
                    scores = queries @ outputs.T
                else:
                    scores = torch.bmm(outputs, queries[:, :, None])[:, :, 0]
                F.cross_entropy(scores, places).backward()
                optimiser.step()

    return round_of_steps


def sgemm(_: str):
    """A large product with the fastest available library (PyTorch's MKL)."""
    import torch

    matrix = torch.randn(2048, 2048)
    return lambda: [matrix @ matrix for _ in range(4)]


def read(_: str):
    """One read of 800 MB."""
    import torch

    array = torch.ones(200_000_000)
    return lambda: array.sum()


SIDES = {"ours": ours, "pass": our_pass, "torch": torch_eager, "sgemm": sgemm, "read": read}


def serve(side: str, case: str) -> None:
    """Child: after warming up, run one round for each line on standard input and print its seconds."""
    work = SIDES[side](case)
    work()
    work()
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        work()
        print(time.perf_counter() - began, flush=True)


def peak_memory(d: int, p: int) -> float:
    """MiB of a process that trains the original problem for a few steps and does nothing else."""
    code = (
        "import resource, loadstone; from loadstone.solvers.gradient import Paper;"
        f"problem = loadstone.original(loadstone.Stream(0, {d}), {p});"
        f"loadstone.train(problem, loadstone.initial_memory({d}, 1.0, seed=0), solver=Paper(steps=3, warmup=0));"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def compare(case: str, rounds: int) -> dict[str, object]:
    """Let all sides take turns and compare their medians."""

    problem, d, load, seeds, steps = CASES[case]
    p = nearest_associations(load, d)
    children = {
        side: subprocess.Popen(
            [sys.executable, __file__, "--serve", side, case], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for side in SIDES
    }
    seconds: dict[str, list[float]] = {side: [] for side in children}
    try:
        for child in children.values():
            assert child.stdout.readline() == "ready\n", "a side failed to start"
        for _ in range(rounds):
            for side, child in children.items():
                time.sleep(0.3)  # idle threads of the last side spin for a while before they sleep
                child.stdin.write("go\n")
                child.stdin.flush()
                seconds[side].append(float(child.stdout.readline()))
    finally:
        for child in children.values():
            child.stdin.close()
            child.wait()
    step = {side: statistics.median(values) / (steps * seeds) for side, values in seconds.items()}
    ratios = [a / b for a, b in zip(seconds["torch"], seconds["ours"])]
    # Shares are formed within each round, so that a slow moment of the machine affects both sides.
    flops = steps * seeds * 4 * p * p * d
    gemm = {
        side: statistics.median(
            flops / mine / (4 * 2 * 2048**3 / big) for mine, big in zip(seconds[side], seconds["sgemm"])
        )
        for side in ("ours", "pass")
    }
    result = {
        "p": p, "d": d, "ours, ms a step": 1e3 * step["ours"], "torch, ms a step": 1e3 * step["torch"],
        "ratio": statistics.median(ratios), "GFLOP/s": flops / statistics.median(seconds["ours"]) / 1e9,
        "sgemm GFLOP/s": 4 * 2 * 2048**3 / statistics.median(seconds["sgemm"]) / 1e9,
        "share of sgemm": gemm["ours"], "pass, share of sgemm": gemm["pass"],
    }  # fmt: skip
    if problem == "decoupled":
        moved = steps * 4 * p * p * d
        reads = [moved / mine / (8e8 / one) for mine, one in zip(seconds["ours"], seconds["read"])]
        result["read GB/s"] = 0.8 / statistics.median(seconds["read"])
        result["share of one read"] = statistics.median(reads)
    return result


def machine() -> dict[str, object]:
    import jax

    with open("/proc/cpuinfo") as file:
        model = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    return {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version(), "jax": jax.__version__}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", help="cases whose name contains this")
    parser.add_argument("--out", help="file for the results (JSON)")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve(*arguments.serve)
    results: dict[str, object] = {"machine": machine(), "rounds": arguments.rounds, "cases": {}}
    for case in CASES:
        if arguments.only and arguments.only not in case:
            continue
        result = results["cases"][case] = compare(case, arguments.rounds)
        print(f"{case} (p = {result['p']})")
        for name, value in result.items():
            target = TARGETS[case].get(name)
            verdict = "" if target is None else f"   target {target}: {'reached' if value >= target else 'NOT reached'}"
            print(f"  {name:18} {value:10.4g}{verdict}")
        sys.stdout.flush()
    if not arguments.only:
        peak = results["peak MiB, original d=300, p=7000"] = peak_memory(300, 7000)
        print(f"peak memory, original d=300, p=7000: {peak:.0f} MiB, target below 1024")
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
