"""A process that is stopped stands still; one that waits, computes, or was not looked at does not."""

import signal
import subprocess
import sys
import time

import psutil
import pytest

from loadstone.runs.engines.standstill import Standstill

SLEEPS = "import time\nwhile True: time.sleep(0.01)"
#: Its first thread only waits for the interpreter, which the other holds most of the time.
COMPUTES = "import threading\nthreading.Thread(target=lambda: [sum(range(10**7)) for _ in range(1000)]).start()"


@pytest.fixture
def started():
    processes = []

    def start(code):
        processes.append(subprocess.Popen([sys.executable, "-c", code]))
        while psutil.Process(processes[-1].pid).status() == psutil.STATUS_DISK_SLEEP:
            time.sleep(0.01)
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def clock(monkeypatch):
    """A clock of which half a second passes in a twentieth."""
    monkeypatch.setattr(time, "monotonic", lambda real=time.monotonic: real() * 10)


def looked_at(process, seconds, looks=12):
    still = Standstill(seconds)
    found = []
    for _ in range(looks):
        found = still.among([process.pid])
        time.sleep(0.05)
    return found


@pytest.mark.parametrize("code", [SLEEPS, COMPUTES])
def test_a_stopped_process_stands_still_and_a_living_one_does_not(started, clock, code):
    process = started(code)
    assert looked_at(process, 5) == []
    process.send_signal(signal.SIGSTOP)
    assert looked_at(process, 5) == [process.pid]
    process.send_signal(signal.SIGCONT)
    assert looked_at(process, 5) == []


def test_the_time_in_which_nobody_looked_does_not_count(started, monkeypatch):
    """The command itself was stopped, or the machine was asleep."""
    process, now = started(SLEEPS), [0.0]
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    still = Standstill(10)
    assert still.among([process.pid]) == []
    now[0] = 10_000.0
    assert still.among([process.pid]) == []
    for _ in range(4):
        now[0] += 2
        last = still.among([process.pid])
    assert last == [process.pid]


def test_a_process_that_has_ended_does_not_stand_still(started):
    process = started("")
    process.wait()
    still = Standstill(0)
    assert still.among([process.pid]) == still.among([process.pid]) == []
