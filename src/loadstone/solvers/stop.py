"""When a search stops: because enough is stored (stop rules), or because it took too long (limits)."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Array, Bool, Int

from loadstone.arguments import choice, positive, set_as, whole

#: 'paper': an accuracy of 99.9 %; '99%': of 99 %; 'exact': every margin positive; 'none': never.
STOP_RULES = ("paper", "99%", "exact", "none")

#: Rules that are met with at most one association in this many not stored.
ONE_IN = {"paper": 1000, "99%": 100}


def met(rule: str, violations: Int[Array, ""] | int, associations: Int[Array, ""] | int) -> Bool[Array, ""] | bool:
    """Whether a memory with this many violations meets a stop rule. Accuracies are counted in whole associations."""
    if choice("stop", rule, STOP_RULES) == "none":
        return False
    return violations <= (associations // ONE_IN[rule] if rule in ONE_IN else 0)


@dataclass(frozen=True)
class Limits:
    """Limits of a search; None: those of the solver itself.

    passes: most passes over the outputs.
    seconds: most time; the clock is checked about once a second. It runs while the search is compiled, but neither that
        nor the first pass is cut short.
    """

    passes: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.passes is not None:
            set_as(self, "passes", whole("passes", self.passes, 1, 10**9))
        if self.seconds is not None:
            set_as(self, "seconds", positive("seconds", self.seconds))


NO_LIMITS = Limits()
