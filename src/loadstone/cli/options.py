"""The options that several commands have, each written once, and how their values are read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from loadstone.arguments import file_name, positive, refuse, whole
from loadstone.files import check_writable
from loadstone.parameters import value_of
from loadstone.theory.load import nearest_associations

if TYPE_CHECKING:
    from loadstone.problems.budget import Budget
    from loadstone.problems.instance import Instance
    from loadstone.runs.store import Store
    from loadstone.solvers.decide import ProofLimits

#: Options in the panels of the help text: `what(help=...)` is an option in the panel 'What'.
what, how, limits, devices, output = (
    partial(typer.Option, rich_help_panel=panel) for panel in ("What", "How", "Limits", "Devices", "Output")
)

# Facts that are drawn at random.
Dimension = Annotated[int, what("--d", help="Dimension of the embeddings.")]
#: For commands that also take facts from a file.
DimensionOrFile = Annotated[Optional[int], what("--d", help="Dimension of the embeddings.")]
Size = Annotated[Optional[int], what("--p", "--facts", help="Number of associations.")]
Load = Annotated[Optional[float], what(help="Load p log p / d^2, instead of --p.")]
Kind = Annotated[str, what(help="original, decoupled or groups:8.")]
Law = Annotated[str, what(help="gaussian, sphere, rademacher, power law:1.")]
Answers = Annotated[Optional[int], what(help="Number of outputs; default: as many as inputs.")]
Frequencies = Annotated[
    str, what(help="How often each answer is a target: uniform, balanced, zipf:s or a file of numbers.")
]
Seed = Annotated[int, what(help="Which stream of associations.")]
FirstSeed = Annotated[int, what(help="First stream of associations.")]
Seeds = Annotated[int, what(help="How many streams, one after the other from --seed.")]

# Facts of a person, in words.
FactsFile = Annotated[str, typer.Argument(help="Facts: .csv, .tsv, .jsonl or .parquet, one fact a line.")]
VectorsFile = Annotated[
    str, typer.Option(help="Vectors: text of GloVe or word2vec, .bin, .npz (words, vectors), .npy or .safetensors.")
]
#: For commands that also take an instance of numbers.
OwnVectors = Annotated[
    Optional[str],
    typer.Option(help="Vectors of the words, if --instance has facts in words (as for loadstone facts store)."),
]
WordsFile = Annotated[Optional[str], typer.Option(help="Text file with the words of an .npy or .safetensors file.")]
ColumnNames = Annotated[str, typer.Option(help="The two columns, as in country,capital.")]
Phrases = Annotated[str, typer.Option(help="Names without a vector: mean (of the vectors of their words) or exact.")]
BookFile = Annotated[str, typer.Argument(help="The book that loadstone facts store wrote.")]

# Memories, solvers and their limits.
RankFraction = Annotated[float, what(help="Rank fraction m / d, in (0, 1].")]
AnyFamily = Annotated[str, what(help="Family of W: full, symmetric, masked:0.5, blocks:8, psd...")]
LinearFamily = Annotated[
    str, what(help="Linear family of W: full, symmetric, blocks:8, masked:0.5, masked:FILE.npy...")
]
Settings = Annotated[
    Optional[list[str]],
    how("--set", help="A parameter of the solver, as in learning_rate=0.1; may be repeated."),
]
NewtonSteps = Annotated[int, limits(help="Most Newton steps for a verdict.")]
HessianBudget = Annotated[Optional[str], limits(help="Memory for the Hessian, such as 8GiB.")]
ProblemBudget = Annotated[Optional[str], limits(help="Memory a problem may take, such as 8GiB.")]

StoreFolder = Annotated[str, typer.Option(help="Folder of the store.")]
NamedScale = Annotated[str, typer.Option(help="Scale of a named sweep: quick or paper.")]
Json = Annotated[bool, output("--json", help="One JSON object on standard output.")]

#: The largest sizes that a spec allows.
MOST_DIMENSION, MOST_ASSOCIATIONS = 2**24, 2**31 - 1


def checked_file(out: str | None) -> None:
    """Refuse, before any work, a file that cannot be written; None: no file."""
    if out is not None:
        check_writable(file_name("out", out))


def associations_from(p: int | None, load: float | None, d: int) -> int:
    """p itself, or the p whose load is nearest to `load`; exactly one of the two must be given."""
    d = whole("d", d, 1, MOST_DIMENSION)
    if (p is None) == (load is None):
        raise ValueError("The problem needs a size: give either --load or --p, and not both.")
    if p is not None:
        return whole("p", p, 2, MOST_ASSOCIATIONS)
    nearest = nearest_associations(positive("load", load), d)
    if not 2 <= nearest <= MOST_ASSOCIATIONS:
        allowed = f"such that p is at least 2 and at most {MOST_ASSOCIATIONS}: it gives p = {nearest} at d = {d}"
        raise refuse("load", load, allowed)
    return nearest


def check_given_once(
    instance: str | None, d: int | None, p: int | None, load: float | None, answers: int | None
) -> None:
    """Refuse an instance that is given neither by a file nor by its size, or by both."""
    if instance is not None and not (d is p is load is answers is None):
        raise ValueError("The instance is given twice: give either --instance or a size (--d with --p or --load).")
    if instance is None and d is None:
        raise ValueError("No instance is given: give --d with --p or --load, or a file with --instance.")


def check_not_drawn(**options: tuple[object, object]) -> None:
    """Refuse options about drawn facts where facts are given. Each option comes with its value and its default."""
    for name, (value, default) in options.items():
        if value != default:
            raise refuse(name, value, "left out with --instance: it is about facts that are drawn at random")


def drawn_instance(
    d: int, p: int, *, problem: str, seed: int, law: str, answers: int | None, frequencies: str
) -> Instance:
    """The instance that the options of a command describe."""
    from loadstone.frequencies import read_frequencies
    from loadstone.problems.instance import Instance
    from loadstone.streams.stream import Stream

    stream = Stream(seed, d, law=law)
    return Instance(stream, p, kind=problem, answers=answers, frequencies=read_frequencies(frequencies))


def parameters_from(settings: Iterable[str] | None) -> dict[str, object]:
    """The parameters that `--set name=value` gives, each name once."""
    parameters: dict[str, object] = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise refuse("set", setting, "of the form name=value, such as learning_rate=0.1")
        if name.strip() in parameters:
            raise refuse("set", setting, f"given once for {name.strip()}")
        parameters[name.strip()] = value_of(value.strip())
    return parameters


def budget_from(text: str | None) -> Budget | None:
    """The memory that a --budget allows; None if it is left out."""
    from loadstone.problems.budget import Budget

    return None if text is None else Budget.parse(text)


def proof_limits(steps: int, budget: str | None, seconds: float | None = None) -> ProofLimits:
    """How far the search for a verdict may go."""
    from loadstone.solvers.decide import ProofLimits

    return ProofLimits(steps, budget_from(budget), seconds)


def existing_store(folder: str) -> Store:
    """The store in a folder; refused if there is none, because opening it would create one."""
    from loadstone.runs.store import Store

    if not (Path(folder) / "records").is_dir():
        raise FileNotFoundError(f"store is {folder!r}, but must be the folder of a store, which holds records/.")
    return Store(folder)
