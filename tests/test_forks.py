"""A process that was forked after JAX had started is told so, instead of waiting for ever."""

import multiprocessing
import subprocess
import sys
import warnings

import pytest

import loadstone
from loadstone import Instance, Stream, decide, measure, original, train

SENTENCE = "this process was forked after JAX had started, and JAX cannot be used in it: start processes by .*'spawn'"


def forked(action):
    """What an action returns or raises in a forked process."""
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)

    def run():
        try:
            writing.send(action())
        except BaseException as error:
            writing.send(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX and Python warn of what is tested here
        child = context.Process(target=run)
        child.start()
    try:
        assert reading.poll(60), "it waits for ever"
        return reading.recv()
    finally:
        child.kill()
        child.join()


def test_what_needs_jax_is_refused_in_a_sentence_and_theory_is_not():
    problem = original(Stream(0, 8), 10)
    memory = train(problem).memory
    for action in (
        lambda: loadstone.train,
        lambda: train(problem),
        lambda: measure(problem, memory),
        lambda: original(Stream(0, 8), 11),
        lambda: decide(Instance(Stream(0, 8), 12)),
    ):
        with pytest.raises(RuntimeError, match=SENTENCE):
            raise forked(action)
    assert forked(lambda: loadstone.predict(d=100).p_c) == loadstone.predict(d=100).p_c
    assert measure(problem, memory).violations == 0  # here it goes on


BEFORE_THE_START = """
import multiprocessing, warnings
import loadstone
from loadstone import Stream, measure, original, train

def child(queue):
    problem = original(Stream(0, 8), 10)
    queue.put(measure(problem, train(problem).memory).violations)

warnings.simplefilter("ignore")
context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=child, args=(queue,))
process.start()
print(queue.get(timeout=100))
process.join()
"""


@pytest.mark.soak
def test_a_process_that_was_forked_before_can_do_everything():
    done = subprocess.run([sys.executable, "-c", BEFORE_THE_START], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
