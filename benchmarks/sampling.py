"""What the threads of a program are doing: each is looked at ten times a second."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

import loadstone

_PACKAGE = str(Path(loadstone.__file__).parent)
#: A look every so many seconds; places are counted over so many of them.
_BETWEEN, _WINDOW = 0.1, 600


class Sampling(threading.Thread):
    """Counts, for each minute, in which function of the package each thread was seen."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.minutes: list[Counter[str]] = []
        self._looks = 0
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(_BETWEEN):
            if self._looks % _WINDOW == 0:
                self.minutes.append(Counter())
            self._looks += 1
            for thread, frame in sys._current_frames().items():
                if thread != self.ident and (place := _place(frame)):
                    self.minutes[-1][place] += 1

    def ended(self) -> list[list[tuple[str, float]]]:
        """For each minute the twelve most frequent places, with the mean number of threads that were there."""
        self._over.set()
        self.join()
        looks = [min(_WINDOW, self._looks - first) for first in range(0, self._looks, _WINDOW)]
        return [
            [(place, count / seen) for place, count in one.most_common(12)] for one, seen in zip(self.minutes, looks)
        ]


def _place(frame: FrameType | None) -> str:
    """The innermost function of the package, and the function that it waits for; '' outside of the package."""
    inner = frame.f_code.co_qualname if frame else ""
    while frame:
        code = frame.f_code
        if code.co_filename.startswith(_PACKAGE):
            where = Path(code.co_filename).relative_to(_PACKAGE).with_suffix("")
            return f"{where}: {code.co_qualname}" + ("" if code.co_qualname == inner else f" > {inner}")
        frame = frame.f_back
    return ""
