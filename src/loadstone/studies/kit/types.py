"""Types that signatures of studies name and only a type checker imports: matplotlib and JAX take seconds to load."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.runs.spec import Spec

__all__ = ["Axes", "Figure", "Line2D", "Spec"]
