"""Threads of NumPy's products, seen by real threads that come and go in every order."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

from loadstone.problems.instance import Instance
from loadstone.solvers.decide import decide
from loadstone.streams.stream import Stream
from loadstone.threads import _blas, all_threads, one_thread, shared_out


def threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def four_threads():
    # Not as a context: that would reserve the number for this thread.
    before = ThreadpoolController().limit(limits=4, user_api="blas")
    _blas._let_go()
    assert threads() == {4}
    yield
    before.restore_original_limits()
    _blas._let_go()


def test_one_and_all_within():
    with one_thread():
        assert threads() == {1}
        with all_threads(60, np):
            assert threads() == {4}
        assert threads() == {1}
        for d, module in ((59, np), (60, None)):
            with all_threads(d, module):
                assert threads() == {1}
    assert threads() == {4}


def test_an_error_restores_them():
    with pytest.raises(ZeroDivisionError), one_thread(), all_threads(100, np):
        raise ZeroDivisionError
    assert threads() == {4}


@pytest.mark.parametrize("leaving", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_who_leaves_first_does_not_matter(leaving):
    inside, may_leave = threading.Barrier(4), [threading.Event() for _ in range(3)]

    def stay(number):
        with one_thread():
            inside.wait(timeout=30)
            may_leave[number].wait(timeout=30)

    with ThreadPoolExecutor(3) as pool:
        staying = [pool.submit(stay, number) for number in range(3)]
        inside.wait(timeout=30)
        for number in leaving:
            assert threads() == {1}
            may_leave[number].set()
            staying[number].result(timeout=30)
    assert threads() == {4}


def test_several_searches_at_once_leave_everything_as_it_was():
    instances = [Instance(Stream(seed, 12), 40).arrays() for seed in range(9)]
    with ThreadPoolExecutor(3) as pool:
        found = [verdict.verdict for verdict in pool.map(decide, instances)]
    assert threads() == {4}
    assert found == [decide(instance).verdict for instance in instances]


def test_work_is_shared_out_in_order_and_its_products_run_on_one_thread():
    def product(size):
        return float((np.ones((size, size)) @ np.ones(size))[0]), threads()

    with shared_out() as each:
        assert list(each(product, range(1, 40))) == [(float(size), {1}) for size in range(1, 40)]
    assert threads() == {4}


def test_on_one_processor_nothing_is_shared_out(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", {0: {0}}.get)  # of this process
    with shared_out() as each:
        assert each is map and threads() == {1}
    monkeypatch.delattr(os, "sched_getaffinity")
    for count, plain in ((1, True), (None, True), (2, False)):
        monkeypatch.setattr(os, "cpu_count", lambda count=count: count)
        with shared_out() as each:
            assert (each is map) == plain
