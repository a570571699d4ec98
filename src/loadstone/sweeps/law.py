"""The sweep of the law: how many associations L-BFGS stores, at sizes up to d = 1024."""

from __future__ import annotations

from loadstone.arguments import rank_of
from loadstone.experiments.spec import Spec
from loadstone.sweeps.grid import share_of_capacity

_KAPPAS = {"quick": (0.5, 1.0), "paper": (0.25, 0.5, 1.0)}
_STREAMS = {"quick": 3, "paper": 5}


def law(scale: str) -> list[Spec]:
    """How many associations L-BFGS stores without a violation, beside the capacity predicted for that size and rank."""
    dimensions = {
        "quick": {"original": (20, 40), "decoupled": (20,)},
        "paper": {"original": (50, 100, 150, 300, 400, 500, 1024), "decoupled": (50, 100, 150, 300)},
    }[scale]
    return [
        Spec(
            problem,
            d,
            share_of_capacity(1, d, rank_of(kappa, d) / d),
            seed,
            kappa,
            solver="reach",
            parameters=_shorter(problem, d, kappa),
        )  # fmt: skip
        for problem, sizes in dimensions.items()
        for d in sizes
        for kappa in _KAPPAS[scale]
        for seed in range(_STREAMS[scale])
    ]


def _shorter(problem: str, d: int, kappa: float) -> dict[str, object]:
    """How long a search may take where a pass takes up to a tenth of a second of a large GPU. At full rank it also ends
    when no memory has every margin above 0.003 |W|: by the law for margins, that costs 0.14 % of the capacity at
    most."""
    if d <= {"original": 500, "decoupled": 150}[problem]:
        return {}
    return {"passes": 300} | ({"optimiser": "lbfgs:margin=0.003"} if kappa == 1 else {})
