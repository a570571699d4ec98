"""Requests to end: Ctrl-C, SIGTERM and SIGHUP."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader
from types import FrameType
from typing import NoReturn

#: Where Python's weak sets and dictionaries remove what was deleted, and where it drops exceptions.
_FORGETTING = {
    (method.__code__.co_filename, name)
    for method, name in ((weakref.WeakSet.add, "_remove"), (weakref.WeakValueDictionary.get, "remove"))
}
#: An interrupt that came at a bad moment is tried again after this many seconds.
_AGAIN_SECONDS = 0.01


@contextmanager
def ends_like_an_interrupt() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C: workers are ended, temporary files removed.

    A signal that is ignored stays ignored, as `nohup` needs it. Compiled code that an interrupt passes through may turn
    it into another error, which then counts as the interrupt.
    """
    polite = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN]
    numbers = [*polite, signal.SIGALRM]
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        numbers.append(signal.SIGINT)

    raised = False

    def interrupt(_: int, frame: FrameType | None) -> None:
        nonlocal raised
        if not _can_be_raised_in(frame):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)  # sends SIGALRM
            return
        for number in polite:  # often both are sent: the second must not interrupt the clean-up
            signal.signal(number, signal.SIG_IGN)
        raised = True
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set signal handlers
        return
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    except (ValueError, OSError):  # a sentence for people, such as that the search so far could not be saved
        raise
    except Exception as error:  # whatever compiled code makes of an interrupt: NumPy turns some into a TypeError
        if raised:
            raise KeyboardInterrupt from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def leave_at_once(code: int) -> NoReturn:
    """End the process after an interrupt, once everything is cleaned up.

    XLA compiles and runs programs in threads of its own, which do not see the interrupt. If Python were taken down as
    usual, it would delete the devices that they still use, and the process would crash.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def leave(code: int | str | None) -> NoReturn:
    """End the command as usual. Ctrl-C then ends the process by itself: while Python is taken down, it would be printed
    as an error and forgotten."""
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_DFL)  # what is registered last is called first
    sys.exit(code)


def _can_be_raised_in(frame: FrameType | None) -> bool:
    """Whether an exception raised here propagates. In callbacks of the garbage collector, and where an object is
    deleted, Python drops it; in a compiled module that is being loaded, it may crash the process."""
    collected = {getattr(called, "__code__", None) for called in gc.callbacks}
    while frame is not None:
        name = frame.f_code.co_name
        if frame.f_code in collected or name == "__del__" or (frame.f_code.co_filename, name) in _FORGETTING:
            return False
        if name in ("create_module", "exec_module") and isinstance(frame.f_locals.get("self"), ExtensionFileLoader):
            return False
        frame = frame.f_back
    return True
