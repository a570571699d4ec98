"""The sweep of solution scores: typical memories that store a share of what fits, and their scores."""

from __future__ import annotations

from dataclasses import replace

from loadstone.runs.spec import Spec
from loadstone.sweeps.space import space

#: Larger dimensions would take minutes a run.
_MOST = 20
_ASKED = {"volume": False, "scores": True}


def solution_scores(scale: str) -> list[Spec]:
    """The streams of 'space' again, without their volumes."""
    return [replace(spec, parameters=_ASKED) for spec in space(scale) if spec.d <= _MOST]
