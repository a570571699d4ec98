"""What a process that was killed leaves behind, removed by the next one: half-written files, and folders for a while.

Each is locked by the process that made it. However that ends, the lock ends with it, so what is not locked has no owner
any more. Where a file system has no locks, nothing is removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_PREFIX = "loadstone-work-"
_FOLDER = re.compile(_PREFIX + r"\w{8}")
#: What is younger may just have been made, and not be locked yet.
_LEAST_SECONDS = 60.0


def hold(handle: int) -> None:
    """Lock an open file or folder until it is closed, or this process ends."""
    with contextlib.suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_files(folder: Path, pattern: re.Pattern[str]) -> None:
    """Remove the files in a folder that have such names and no living owner."""
    _remove(folder, pattern, stat.S_ISREG, os.unlink)


@contextlib.contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder that only this user can enter, removed at the end, or else by the next process that makes one."""
    _remove(Path(tempfile.gettempdir()), _FOLDER, stat.S_ISDIR, shutil.rmtree)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as folder:
        handle = os.open(folder, os.O_RDONLY)
        try:
            hold(handle)
            yield folder
        finally:
            os.close(handle)


def _remove(
    folder: Path, pattern: re.Pattern[str], is_kind: Callable[[int], bool], remove: Callable[[str], object]
) -> None:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(entry.path, is_kind, remove)


def _remove_if_abandoned(path: str, is_kind: Callable[[int], bool], remove: Callable[[str], object]) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        state = os.fstat(handle)
        ours = is_kind(state.st_mode) and state.st_uid == os.geteuid()
        if ours and time.time() - state.st_mtime > _LEAST_SECONDS:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an OSError if its owner lives
            remove(path)
    finally:
        os.close(handle)
