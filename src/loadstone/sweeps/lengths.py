"""The sweep of lengths: how many memories store a stream whose outputs all have the same length, and the others of
'space' for which this is known too."""

from __future__ import annotations

from dataclasses import replace

from loadstone.runs.spec import Spec
from loadstone.studies.solution_space import runs as space

#: The largest dimension at which streams are sampled again with embeddings on a sphere, and how full they are at most:
#: beyond a half of the capacity some volumes are too small to be seen.
_MOST = {"quick": 8, "paper": 16}
_FULL = {"quick": 0.4, "paper": 0.5}


def lengths(scale: str) -> list[Spec]:
    """Streams of Gaussian embeddings, and as many of embeddings on a sphere."""
    gaussian = [spec for spec in space(scale, _FULL[scale]) if spec.settings.volume]
    return gaussian + [replace(spec, law="sphere") for spec in gaussian if spec.d <= _MOST[scale]]
