"""In place of problems and of what their searches return, where a test is about the order of searches."""

from types import SimpleNamespace


class Associations(int):
    """A number of associations that stands for the problem that has so many."""

    @property
    def associations(self):
        return int(self)


def searched(status, memory=None, passes=1, violations=0):
    """A search that ended so, with a memory that does not store so many."""
    return SimpleNamespace(status=status, memory=memory, passes=passes, measured=SimpleNamespace(violations=violations))
