from loadstone.books.book import Book as Book
from loadstone.books.book import open_book
from loadstone.books.storing import remember as remember
from loadstone.measurements.accuracy import Measurement as Measurement
from loadstone.measurements.accuracy import measure as measure
from loadstone.memories.families import initial_memory as initial_memory
from loadstone.memories.files import load_memory, save_memory
from loadstone.memories.foreign import memory as memory
from loadstone.memories.memory import Memory as Memory
from loadstone.problems.decoupled import decoupled as decoupled
from loadstone.problems.facts import facts as facts
from loadstone.problems.instance import Instance as Instance
from loadstone.problems.original import original as original
from loadstone.problems.problem import Problem as Problem
from loadstone.proofs.certificate import check_proof
from loadstone.proofs.verdict import Verdict as Verdict
from loadstone.solvers.decide import decide as decide
from loadstone.solvers.margin import maximum_margin as maximum_margin
from loadstone.solvers.solution import Solution as Solution
from loadstone.solvers.solve import train as train
from loadstone.solvers.stop import Limits as Limits
from loadstone.space.sample import Sampled as Sampled
from loadstone.space.sample import sample as sample
from loadstone.streams.stream import Stream as Stream
from loadstone.tasks.capacity import exact_capacity as exact_capacity
from loadstone.theory.prediction import Prediction as Prediction
from loadstone.theory.prediction import predict as predict

__version__: str

load = load_memory
save = save_memory
open = open_book
check = check_proof
