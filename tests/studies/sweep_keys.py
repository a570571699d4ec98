"""The runs of every sweep, as a number and a digest of their keys: records of other runs would be of no use to it.

python -m tests.studies.sweep_keys      # after a deliberate change of a sweep: rewrite sweep_keys.json
"""

import hashlib
import json
from pathlib import Path

from loadstone.studies.registry import SCALES, SWEEPS, named_sweep

KEPT = Path(__file__).with_name("sweep_keys.json")


def runs() -> dict[str, dict[str, str]]:
    return {name: {scale: _digest(name, scale) for scale in SCALES} for name in sorted(SWEEPS)}


def _digest(name: str, scale: str) -> str:
    keys = sorted(spec.key for spec in named_sweep(name, scale))
    return f"{len(keys)} runs, {hashlib.sha256(' '.join(keys).encode()).hexdigest()[:16]}"


if __name__ == "__main__":
    KEPT.write_text(json.dumps(runs(), indent=1) + "\n")
