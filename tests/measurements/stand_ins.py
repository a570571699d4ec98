"""In place of problems, where a test is about the order of searches."""


class Associations(int):
    """A number of associations that stands for the problem that has so many."""

    @property
    def associations(self):
        return int(self)
