"""How a process finds the others."""

import jax
import pytest

from loadstone.hosts import agreed, is_first, join


@pytest.fixture
def told(monkeypatch):
    """What JAX was told, in place of waiting for other processes."""
    found = []
    monkeypatch.setattr(jax.distributed, "initialize", lambda *arguments: found.append(arguments))
    return found


def test_jax_finds_a_job_by_itself_or_is_told_who_is_first_and_how_many_there_are(told):
    join("auto")
    join("node1:8476", 3, 2)
    join("[::1]:65535", 1, 0)
    assert told == [(), ("node1:8476", 3, 2), ("[::1]:65535", 1, 0)]


@pytest.mark.parametrize("asked, sentence", [
    (("auto", 2, None), "coordinator is 'auto', but must be host:port if processes and process are given"),
    (("auto", None, 0), "coordinator is 'auto', but must be host:port if processes and process are given"),
    (("node1", 2, 0), "must be host:port of the first process"), ((":8476", 2, 0), "must be host:port"),
    (("node1:0", 2, 0), "must be host:port"), (("node1:65536", 2, 0), "must be host:port"),
    (("node1:1", 0, 0), "processes is 0, but must be a whole number of at least 1 and at most 1048576"),
    (("node1:1", 2, 2), "process is 2, but must be a whole number of at least 0 and at most 1"),
])  # fmt: skip
def test_what_names_no_process_is_refused(told, asked, sentence):
    with pytest.raises(ValueError, match=sentence):
        join(*asked)
    assert not told


def test_without_a_job_auto_is_refused(monkeypatch):
    def no_job():
        raise RuntimeError("no  job\nhere")

    monkeypatch.setattr(jax.distributed, "initialize", no_job)
    with pytest.raises(ValueError, match=r"must be host:port here: JAX found no job to join \(no job here\)[.]"):
        join("auto")


def test_a_process_alone_is_the_first_and_agrees_with_itself(monkeypatch):
    assert is_first() and agreed(7) == 7
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    monkeypatch.setattr("jax.experimental.multihost_utils.broadcast_one_to_all", lambda number: number + 1)
    assert agreed(7) == 8 and type(agreed(7)) is int
    monkeypatch.setattr(jax, "process_index", lambda: 1)
    assert not is_first()
