"""The frozen hard instances: their proofs hold, and each pair differs by one fact."""

from pathlib import Path

import numpy as np
import pytest

from loadstone.proofs.certificate import check_proof
from tests.proofs.exact_checker import check_exact

FOLDER = Path(__file__).parents[2] / "benchmarks" / "hard"
PROOFS = sorted(FOLDER.glob("*.npz"))


def test_there_are_thirty_and_they_are_small():
    assert len(PROOFS) == 30 and sum(path.stat().st_size for path in PROOFS) < 1.5e6
    families, dimensions = set(), set()
    for path in PROOFS:
        with np.load(path) as file:
            families.add(str(file["family"]).partition(":")[0])
            dimensions.add(file["inputs"].shape[1])
    assert families == set("full symmetric traceless skew masked blocks diagonal circulant given".split())
    assert min(dimensions) == 8 and max(dimensions) == 60


@pytest.mark.parametrize("name", [path.stem[: -len("-yes")] for path in PROOFS if path.stem.endswith("-yes")])
def test_one_fact_more_cannot_be_stored(name):
    stored, beyond = FOLDER / f"{name}-yes.npz", FOLDER / f"{name}-no.npz"
    for path, verdict in ((stored, "storable"), (beyond, "not storable")):
        found = check_proof(path)
        assert found.valid and found.verdict == verdict, found.reason
    with np.load(stored) as few, np.load(beyond) as many:
        n = len(few["targets"])
        assert len(many["targets"]) == n + 1 and (many["targets"][:n] == few["targets"]).all()
        assert (many["inputs"][:n] == few["inputs"]).all()


@pytest.mark.parametrize("path", [path for path in PROOFS if "-8-" in path.stem], ids=lambda path: path.stem)
def test_the_smallest_are_judged_in_exact_arithmetic(path):
    assert check_exact.main(path) == 0
