"""Embedding laws by their names. A new one is a file beside this one and a line here."""

from __future__ import annotations

from loadstone.parameters import made_from_text, text_of
from loadstone.streams.laws.gaussian import Gaussian
from loadstone.streams.laws.law import Law
from loadstone.streams.laws.power_law import PowerLaw
from loadstone.streams.laws.rademacher import Rademacher
from loadstone.streams.laws.sphere import Sphere

LAWS: dict[str, type[Law]] = {"gaussian": Gaussian, "sphere": Sphere, "rademacher": Rademacher, "power law": PowerLaw}


def law_of(text: str) -> Law:
    """The law of a name, with its parameters after a colon, as in 'student:3'."""
    return made_from_text("law", text, LAWS)


def check_law(text: str) -> str:
    """The law's text in standard spelling, so that the same law always has the same name in a spec."""
    law = law_of(text)
    return text_of(text.partition(":")[0], law)
