"""Processes that were forked after JAX had started. Its threads are not there, and whatever needs them would wait for
ever: it is refused. (`multiprocessing` forks by default before Python 3.14.)"""

from __future__ import annotations

import os
import sys

_started = _forked_after_the_start = False


def _before() -> None:
    global _started
    # JAX has no public way to ask this without starting.
    bridge = sys.modules.get("jax._src.xla_bridge")
    _started = bridge is not None and bridge.backends_are_initialized()


def _in_child() -> None:
    global _forked_after_the_start
    _forked_after_the_start = _started


def check_not_forked() -> None:
    """Refuse to use JAX in a process in which it would wait for ever."""
    if _forked_after_the_start:
        raise RuntimeError(
            "this process was forked after JAX had started, and JAX cannot be used in it: start processes by "
            "multiprocessing.get_context('spawn')."
        )


os.register_at_fork(before=_before, after_in_child=_in_child)
