"""What each figure shows, in plain words, for a reader who has not seen the paper."""

from __future__ import annotations

from typing import NamedTuple


class Caption(NamedTuple):
    """A title that states the finding, what is drawn, and what theory says about it."""

    title: str
    drawn: str
    theory: str


CAPTIONS: dict[str, Caption] = {
    "equivalence": Caption(
        "Shared or private competitors: equally hard",
        "Accuracy of trained memories against the load, for the original problem (all inputs share one set of outputs, "
        "solid) and the decoupled one (every input has competitors of its own, dashed; the band is the deviation).",
        "The two have the same capacity, a load of 1/2 as d grows (red). At finite size the transition lies higher and "
        "moves to 1/2 slowly, roughly like 1 / log p.",
    ),
    "accuracy": Caption(
        "A lower rank stores less, and the Hebbian rule far less",
        "The same for memories of rank kappa d, kappa = 1/4, 1/2 and 1, and the Hebbian rule (dotted), which adds up "
        "the products u e^T without training.",
        "Capacity falls with the rank along a known curve (red), slowly at first: half the rank keeps most of it. The "
        "Hebbian rule stores everything only up to a load of 1/8; what it recalls at each d is predicted without a "
        "free parameter (thin lines).",
    ),
    "spectra": Caption(
        "Which spectrum a memory has at its limit",
        "Singular values, other than zero, of memories trained at the capacity of their size, the original problem "
        "above and the decoupled one below.",
        "At capacity and for large d they follow the upper part of a quarter circle (solid), which at full rank is "
        "also what training starts from (dashed). The distance is Kolmogorov's; the prediction for it is that of "
        "Gaussian matrices of the same size, cut to the same rank.",
    ),
    "scores": Caption(
        "Targets climb just above the crowd",
        "Scores of the targets and of all other outputs, in units of the deviation of the others, at three loads and "
        "at the capacity of this size.",
        "At capacity the scores of one association are those of random numbers, the target and those that beat it "
        "pulled together to their mean: this fixes both laws (dashed) without a free parameter. There each target is "
        "in units of the length of its own query, as in the law.",
    ),
    "single": Caption(
        "One association at a time",
        "Scores that one input gives to all outputs: its target (red line), its best rival (dotted) and the others.",
        "An association is stored when the red line is right of the dotted one. Below capacity that holds for all of "
        "them at once.",
    ),
    "loss": Caption(
        "The loss turns up where capacity ends",
        "Cross-entropy of the same trained memories.",
        "It can be made as small as one likes below capacity, and cannot above. The figure of the curves above "
        "capacity has the predicted values.",
    ),
    "finite-size": Caption(
        "How slowly the threshold comes down to 1/2",
        "The distance of the threshold from its limit, on scales where a law of 1 / log p is a line of slope -1: "
        "proved capacities, and the loads at which training fails by either stop rule.",
        "The red curve, log p / D(p), has no free parameter. Proved capacities lie on it; training gives up earlier.",
    ),
    "initial-spectra": Caption(
        "What training starts from",
        "Singular values of a product of two Gaussian factors before training. The arrow stands for those that are "
        "zero because the rank is low.",
        "A free product of two random-matrix laws (black), which is not the quarter circle even at full rank.",
    ),
    "hebbian": Caption(
        "Scores of the Hebbian rule",
        "Scores of the targets (on the diagonal) and of all others (off it), in units of the deviation of the others.",
        "Two normal laws. With the moments that hold at this size (dashed) they fit; with those of the limit p >> d "
        "(dotted) they do not yet.",
    ),
    "capacity": Caption(
        "Storable or not: proved, and predicted without a free parameter",
        "For each stream of associations the exact number that can be stored, found by proofs: a memory that stores "
        "them, or weights that show that none can. Drawn is the share of streams that hold p.",
        "Geometry of random cones gives the probability exactly for the decoupled problem (red). The original one "
        "holds a little more at small d. Training stops far before either.",
    ),
    "curves": Caption(
        "What is left when not everything fits",
        "Cross-entropy and accuracy of memories trained with more associations than they can hold.",
        "The curves come from two equations for the minimiser of the loss, without a free parameter; they hold for "
        "large d and begin at the capacity of each size (dotted).",
    ),
    "phase": Caption(
        "What fits, by rank and load",
        "Loads at which training first fails, for each rank.",
        "Below the red curve everything can be stored as d grows; the dashed curves say the same at finite d.",
    ),
    "beyond": Caption(
        "Sizes that the paper does not have",
        "Loss and accuracy on both sides of the capacity: large original problems, and decoupled ones whose outputs "
        "are stored in half precision or made anew in every step instead of stored.",
        "Below the capacity of each size (dotted) all can be stored, though training may stop short of it; above, the "
        "curves are those of the minimiser.",
    ),
    "entropy": Caption(
        "How many memories do the job",
        "The logarithm of the share of all memories that store everything, for each parameter; the overlap of two such "
        "memories; and the term of the theory from which both follow.",
        "In the limit (red) the overlap grows to 1 at a load of 1/2, where one memory is left; at finite p the same "
        "happens later, at the dotted lines. The paper's bounds hold in the limit.",
    ),
}
