"""Every claim, equation, figure and protocol of the paper in its order, and what here speaks to it.

The paper is A. Giorlandino, S. Goldt and A. Maillard, 'Factual recall in linear associative memories: sharp asymptotics
and mechanistic insights'. A claim names kinds of comparisons of the report that test what the paper says, as it says
it: from these its outcome follows. Others may test something sharper, which the paper does not say; what they find is
told beside. Or it names a test, where the claim is mathematics that a program can check; or the reason why neither can
be had. No outcome and no number is written here, except those that the paper prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from loadstone.studies.kit.comparison import Comparison, Judgement
from loadstone.studies.kit.multiple_tests import family_tests
from loadstone.studies.kit.sentences import findings

#: The comparisons of each figure of a report.
ByFigure = Mapping[str, Sequence[Comparison]]


class Outcome(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    TREND = "right trend"
    DIFFERS = "differs"
    CANNOT_TELL = "cannot tell"
    CHECKED = "checked by a test"
    BEYOND = "beyond reach"
    NOT_SHOWN = "not in this report"


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    place: where the paper makes it.
    says: the claim.
    kinds: beginnings of the names of the comparisons that test it.
    figure: the figure of this package that shows it, or ''.
    sharper: beginnings of the names of comparisons, of any figure, that test more than the paper says.
    test: the test that checks it, or ''.
    beyond: why it cannot be tested here, or ''.
    remark: what to keep in mind about its outcome.
    limit: whether it is about large d, and tested as a trend: then the right trend is all that can be found.
    """

    place: str
    says: str
    kinds: tuple[str, ...] = ()
    figure: str = ""
    sharper: tuple[str, ...] = ()
    test: str = ""
    beyond: str = ""
    remark: str = ""
    limit: bool = False

    def chosen(self, by_figure: ByFigure) -> list[Comparison]:
        """The comparisons of its figure that test it."""
        return [one for one in by_figure.get(self.figure, ()) if self.kinds and one.what.startswith(self.kinds)]

    def outcome(self, by_figure: ByFigure) -> Outcome:
        """Differs if a number of the claim does, alone or as a kind; reproduced if none does and one or more agree."""
        tested = self.chosen(by_figure)
        if not tested:
            if self.kinds:
                return Outcome.NOT_SHOWN
            return Outcome.CHECKED if self.test else Outcome.BEYOND
        verdicts = {one.verdict for one in tested}
        if Judgement.DIFFERS in verdicts or any(one.systematic for one in family_tests(tested)):
            return Outcome.DIFFERS
        if Judgement.AGREES not in verdicts:
            return Outcome.CANNOT_TELL
        return Outcome.TREND if self.limit else Outcome.REPRODUCED

    def numbers(self, by_figure: ByFigure) -> list[str]:
        """What was found, in sentences made from the comparisons, or what stands in their place; and what tests of a
        sharper statement find."""
        # A number that several figures have is told once.
        everything = {one.what: one for comparisons in by_figure.values() for one in comparisons}
        sharper = findings([one for what, one in everything.items() if self.sharper and what.startswith(self.sharper)])
        said = [one for one in (*findings(self.chosen(by_figure)), self.beyond, self.remark) if one]
        return said + [f"sharper than the paper: {one}" for one in sharper]

    @property
    def command(self) -> str:
        """The command that shows it again."""
        if self.test:
            return f"pytest {self.test}"
        return f"loadstone reproduce {self.figure} --scale paper --from-shipped" if self.figure else ""


@dataclass(frozen=True)
class Misprint:
    """What the paper prints, and what is right by its own formulas."""

    place: str
    printed: str
    right: str


_EQUIVALENT = tuple(f"accuracy over all loads{by}, decoupled - original" for by in ("", " by L-BFGS"))
_FOURTH = "<s^4>/<s^2>^2"

CLAIMS: tuple[Claim, ...] = (
    Claim("abstract, conjecture 1", "The decoupled problem stores up to p log p / d^2 = 1/2 in the limit of large d.",
          ("mean capacity, proved, decoupled", "mean capacity, stored by L-BFGS, decoupled"), "shift",
          remark="tested as the finite-size law p D(p) = d^2, which tends to 1/2; no size here is near the limit"),
    Claim("figure 1, right", "Accuracy against load: original and decoupled problem are equally hard at every d.",
          _EQUIVALENT, "equivalence"),
    Claim("figure 1, caption", "The threshold converges to its limit slowly, with corrections of order 1 / log p.",
          ("slope of the threshold beside the exact law, proved",), "finite-size"),
    Claim("introduction", "The Hebbian memory is one step of gradient descent on the correlation loss.",
          test="tests/solvers/test_hebbian.py",
          remark="from W = 0, with a rate of 1/d: the same matrix, each entry to 1e-5"),
    Claim("introduction", "Hebbian: everything is stored if d^2 is large compared with p polylog(p).",
          ("share of Hebbian memories that store everything",), "accuracy",
          remark="the law at finite size gives 0.799 at d = 50, p = 30, where 0.791(3) of 20 000 memories store "
                 "everything (tests/theory/test_hebbian_law.py)"),
    Claim("section 2, eq. OP and DP", "Both problems: inputs and outputs Gaussian, argmax over p outputs.",
          test="tests/problems/test_pass.py",
          remark="as dense products in float64 to rounding; with shared outputs in float64 to 1e-12"),
    Claim("section 2, conjecture 1", "Original and decoupled problem have the same capacity in the limit.",
          ("exponent of d in the excess over the formula",), "shift", ("excess over the formula in per cent",),
          remark="a limit can be tested as a trend only: that the difference falls as d grows", limit=True),
    Claim("section 2", "The equivalence extends to memories of low rank.",
          ("accuracy over all loads at kappa",), "accuracy",
          remark="capacities; scores and spectra are in the next line"),
    Claim("section 2", "At low rank too, both problems have the same scores and spectra.",
          ("exponent of d at kappa",), "stored-spectra", ("at kappa = ",),
          remark="at the largest p that all streams of both problems store, as a trend: differences fall as d grows",
          limit=True),
    Claim("section 3.1", "The transition points of both problems are indistinguishable at every dimension tried.",
          ("load at which training fails, decoupled - original",), "phase", ("capacity, original - decoupled",),
          remark="with the paper's protocol and at its resolution; proofs resolve more"),
    Claim("section 3.1", "At finite size more is stored than the limit says.",
          ("load at which training fails above that of the limit",), "phase",
          ("load at which training fails (paper stop)",),
          remark="the law of each size is sharper; 512 steps of Adam stop short of it at small d, L-BFGS does not"),
    Claim("section 3.1", "The full accuracy curves of both problems match, not only the transition.", _EQUIVALENT,
          "equivalence"),
    Claim("figure 2", "Accuracy for kappa = 1/4, 1/2, 1: both problems, with the predicted thresholds.",
          ("accuracy over all loads",), "accuracy"),
    Claim("figure 2", "Accuracy of the Hebbian rule at kappa = 1.", ("Hebbian accuracy",), "accuracy",
          remark="beside its law at finite size"),
    Claim("section 3.2, figure 3", "Singular values at capacity follow the truncated quarter circle.",
          ("exponent of d in the excess distance to the law",), "stored-spectra",
          ("distance to the law at capacity",),
          remark="of the last runs stored, as a trend: the excess of the distance over that of Gaussian matrices falls "
                 "as d grows; sharper is that there is no excess, at the predicted capacity after 512 steps",
          limit=True),
    Claim("section 3.2, figure 3", "The spectra of both problems at capacity are the same.",
          (f"exponent of d in the difference: {_FOURTH}, original - decoupled",), "witnesses",
          (f"{_FOURTH}, original - decoupled",),
          remark="of proved memories, as a trend: the difference falls as d grows; at no size here is it zero",
          limit=True),
    Claim("section 3.2", "The spectrum converges fast.",
          (f"exponent x of the excess of {_FOURTH} as d^-x, beside that of the threshold",), "witnesses",
          tuple(f"exponent x of the excess of {_FOURTH} as d^-x, {problem}" for problem in ("decoupled", "original")),
          remark="faster than the threshold at the same sizes; sharper is an error of order 1/d"),
    Claim("section 3.3, figure 4", "Scores of non-targets follow a standard normal law at every load.",
          ("distance of the scores of the others from a normal law",), "scores",
          ("skewness of the scores of the others", "fourth moment of the scores of the others"),
          remark="to within one per cent of the distribution; moments resolve more"),
    Claim("section 3.3, figure 4", "Targets are driven just above the largest of the other scores.",
          ("gap between the target and its best rival",), "scores",
          ("mean of the target's score at the proved capacity", "deviation of the target's score at the proved"),
          remark="by less than the deviation of one non-target score, where 99.9 % are stored; sharper is the law of "
                 "tau at finite p, for which the leading order sqrt(2 log p) is far off here"),
    Claim("section 3.3", "Both problems share this mechanism.",
          ("exponent of d in the difference: mean of the target's score",), "witnesses",
          ("mean of the target's score, original - decoupled",),
          remark="both lie just above their rivals, see the line above; their scores come closer as d grows",
          limit=True),
    Claim("section 4", "Hebbian targets are normal with mean sqrt(log p / alpha) and variance 1.",
          ("mean on the diagonal", "deviation on the diagonal"), "hebbian",
          remark="beside the exact moments at finite size, of which the paper's are the limit p >> d"),
    Claim("section 4", "The Hebbian rule has a capacity of 1/8.", ("Hebbian accuracy",), "accuracy",
          remark="tested through the law at finite size; in the limit it follows from the rate function below"),
    Claim("section 4", "At capacity the scatter of target scores is far smaller than that of the others.",
          ("scatter of the target's score over that of the others",), "capacity",
          ("deviation of the target's score at the proved capacity",),
          remark="less than half of it at every size; sharper is the law of tau"),
    Claim("section 5, claim 1", "alpha_c = 1/2, from the free entropy as q tends to 1.",
          test="tests/theory/test_entropy.py",
          remark="the closed form is the least value of the functional to 1e-9, and minus infinity at 1/2"),
    Claim("section 5", "The annealed bound phi <= -alpha.", test="tests/theory/test_entropy.py",
          remark="holds at each of 40 loads from 0.01 to 0.49"),
    Claim("section 5", "The log-volume, divided by d^2, concentrates as d grows.",
          ("exponent of d in the scatter of the free entropy over streams, decoupled",), "space",
          ("exponent of d in the scatter of the overlap over streams, decoupled", "free entropy, decoupled",
           "free entropy, outputs of equal length, decoupled", "free entropy beside the functional with lengths, "
           "decoupled", "overlap of two solutions, decoupled"),
          remark="sampled, at the loads where every stream has a volume; sharper are its mean and the overlap of two "
                 "solutions, beside the functional at finite p, which takes all outputs as equally long", limit=True),
    Claim("section 5, figure A.3", "log(alpha_c(p) - 1/2) falls with log log p with slope -1.",
          ("slope of the threshold beside the paper's -1",), "finite-size",
          remark="the exact law has a slope of -1 for infinite p only"),
    Claim("section 6, claim 2", "alpha_c(kappa) of memories of low rank.",
          ("associations that L-BFGS stores",), "law",
          remark="an upper bound below full rank; a search has 1000 passes, but 300 at d = 1024 and, decoupled, at "
                 "d = 300"),
    Claim("section 6, claim 2", "rho_c[kappa], the spectrum at capacity and low rank.",
          tuple(f"exponent of d in the excess distance to the law, {solver}, {problem}, kappa = 0"
                for solver in ("Adam", "L-BFGS") for problem in ("decoupled", "original")), "stored-spectra",
          ("distance to the law at capacity",), remark="as a trend, as at full rank", limit=True),
    Claim("section 6", "Gradient descent reaches the replica-symmetric threshold, although nothing is convex.",
          ("associations stored with everything tried",), "rank"),
    Claim("section 6, eq. variational", "The free entropy and the spectrum at low rank below capacity.",
          test="tests/theory/test_typical.py",
          sharper=(f"exponent of d in the excess of {_FOURTH} below capacity", f"{_FOURTH} of typical solutions"),
          remark="solved at every load: a typical solution is a random memory of its rank with a cosine of "
                 "sqrt(2 alpha) with a random matrix, and at full rank the law is a quarter circle; exact "
                 "determinants agree, and so do solutions sampled with Gaussian matrices in the place of u e^T; with "
                 "embeddings the fourth moment is larger at the ranks that can be sampled"),
    Claim("outlook", "A proof of the conjecture.", beyond="mathematics that measurements cannot replace"),
    Claim("outlook", "Two-layer memories that are not linear.", figure="layers",
          beyond="no prediction exists; what was stored is measured in the figure"),
    Claim("outlook", "More realistic embeddings.", test="tests/solvers/test_coordinates.py",
          remark="a Gaussian embedding with any covariance has the capacity of the white one; other laws differ"),
    Claim("appendix A", "Protocol: Adam, rate 0.01, at most 512 steps, warm-up and cosine, stop at 99.9 %.",
          test="tests/solvers/test_gradient.py",
          remark="beside Adam written in NumPy, the losses of 40 steps agree to 2e-5, at low rank to 1e-4"),
    Claim("appendix A, figure A.1", "Cross-entropy loss of the same runs, original and decoupled.",
          ("loss over all loads",), "loss", ("loss, ",),
          remark="tested as equal losses of both problems; sharper is the loss of the minimiser, which the paper does "
                 "not predict"),
    Claim("appendix A, figure A.2", "Scores of one association: stored if the target is the largest.",
          test="tests/measurements/test_measurements.py",
          remark="as many violations as in a table of all scores, and the same margin to 1e-4"),
    Claim("appendix B", "The expected volume of the original problem has no closed form.",
          test="tests/theory/test_annealed.py",
          remark="it is at most that of the decoupled one, p^-p, by the inequality of the means: for p = 4 it is "
                 "0.383(5) of it at d = 3 and 0.977(3) at d = 60"),
    Claim("appendix C.1", "|W e|^2 concentrates: the operator norm is bounded.",
          ("exponent of d in the largest singular value over root mean square",), "witnesses",
          ("largest singular value over root mean square",),
          remark="in units of the root mean square it does not grow with d; sharper is the value of Gaussian matrices. "
                 "Over stored inputs the variance of |W e|^2 is 5.3, 5.3 and 5.0 times its squared mean over d at "
                 "d = 20, 40 and 80, near 2 <s^4> / <s^2>^2 = 4.7 to 4.9 (tests/measurements/test_measurements.py)",
          limit=True),
    Claim("appendix C.1", "Solutions are not of low rank.", ("exponent of d in the share of directions used",),
          "witnesses", (f"{_FOURTH} of proved memories",),
          remark="the share of directions that they use, <s^2>^2 / <s^4>, does not fall as d grows; sharper is the "
                 "value of Gaussian matrices", limit=True),
    Claim("appendix C.1", "Gaussian equivalence: P(storable) of the decoupled problem.",
          ("mean of the proved capacity, decoupled", "deviation of the proved capacity, decoupled"), "capacity"),
    Claim("appendix C.2", "G(t) lies between the two bounds and behaves as -1 / (1 - t).",
          test="tests/theory/test_entropy.py",
          remark="at each of 200 t up to 0.999; at 1 - t = 1e-9 the lower bound is within 1e-3 of it, the upper "
                 "within 1e-5"),
    Claim("appendix C.2", "Corrections to G at finite p are of order log log p / log p.",
          test="tests/theory/test_corrections.py", remark="the constant is 3/2, and 3/4 for the threshold"),
    Claim("appendix C.3", "The spectrum before training is a free product of two Marchenko-Pastur laws.",
          ("distance to the law at initialisation",), "initial-spectra"),
    Claim("appendix D, theorem", "With independent Gaussian scores everything is stored below 1/8 and not above.",
          test="tests/theory/test_hebbian_law.py",
          remark="at p = 1e12 with probability above 0.999 at a load of 0.09, and below 1e-6 at 0.18"),
    Claim("appendix D, figure", "Histograms of Hebbian scores on and off the diagonal.",
          ("mean on the diagonal", "deviation on the diagonal"), "hebbian"),
)  # fmt: skip

MISPRINTS: tuple[Misprint, ...] = (
    Misprint("caption of figure 2", "alpha_c(0.5) = 0.46", "the paper's own formula gives 0.446865"),
    Misprint("definition of rho_c[kappa]", "(1-k) delta + k rho_qc on [X(1-k), 2], of mass 1 - k + k^2",
             "(1-k) delta + rho_qc on [X(1-k), 2]; the non-zero values alone follow rho_qc / k there"),
    Misprint("saddle point for q-hat", "-2 alpha / (Q G'(t)), and once G'(t) ~ -(1-t)^2",
             "-2 alpha G'(t) / Q, and G'(t) ~ -(1-t)^(-2)"),
    Misprint("variational formula for low rank",
             "the repulsion of singular values, with k (1-k) int rho log s, beside J, the rate function of their law",
             "the rate function has the repulsion in it, so it counts once; in the measure on W it is 2 k (1-k)"),
    Misprint("cubic for the initial spectrum", "the law of the squared singular values of W",
             "the law of the m that are not zero, scaled to mean 1; the full law adds (1-k) delta at 0"),
    Misprint("protocol", "training stops at 99.9 %, and the threshold is the first violation",
             "two different notions: here both stop rules exist, and each figure says which it uses"),
)  # fmt: skip
