"""One small instance that several tests sample, once."""

import pytest

import loadstone
from loadstone.problems.original import original
from loadstone.streams.stream import Stream

PROBLEM = original(Stream(0, 3), 4)


@pytest.fixture(scope="session")
def sampled():
    return loadstone.sample(PROBLEM.arrays(), seed=2)
