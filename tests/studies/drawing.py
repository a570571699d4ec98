"""What a study draws, without files."""

import sys
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import matplotlib.pyplot as plt

from loadstone.studies.kit import panels
from loadstone.studies.registry import study_of


@contextmanager
def drawn(name, rows):
    """The picture of a study and the numbers that are written beside it; the picture is closed in the end."""
    kept = []

    def keep(picture, stem, numbers):
        kept.append((picture, numbers))
        return []

    study = study_of(name)
    module = sys.modules[study.draw.__module__]
    with mock.patch.object(panels, "save", keep), mock.patch.object(module, "save", keep, create=True):
        study.write(study.points(rows), Path(name))
        try:
            yield kept[0]
        finally:
            plt.close("all")


def compared(name, rows):
    """The comparisons of a study."""
    study = study_of(name)
    return study.compare(study.points(rows))
