"""What commands refuse: one sentence with the argument, its value and what is allowed; exit code 2; nothing written."""

import shlex

import pytest

from tests.cli.folder import FACTS

DIMENSIONS, ASSOCIATIONS, SEEDS = 2**24, 2**31 - 1, 2**64 - 1
#: Smallest and largest value of each number that is an option; None: as large as one likes.
BOUNDS = {
    "predict --d 6": {"d": (1, 10**8), "answers": (2, 10**15)},
    "train --d 3 --p 4": {"seed": (0, SEEDS), "seeds": (1, 10**6), "passes": (1, 10**9)},
    "certify --d 3 --p 4": {"seed": (0, SEEDS), "steps": (1, None)},
    "capacity --d 2": {"d": (1, DIMENSIONS), "seed": (0, SEEDS - 4), "seeds": (1, 10**6)},
    "sample --d 3 --p 2": {"seed": (0, 2**31 - 1), "chains": (2, 4096), "steps": (2, 10**9)},
    "instance --d 3 --p 4 --out no.npz": {"seed": (0, SEEDS)},
    "facts budget b.book": {"shuffles": (0, None)},
    "facts report b.book": {"shuffles": (0, None)},
    "facts recall b.book word": {"top": (1, None)},
    "reproduce accuracy": {"workers": (1, 1024), "seeds": (1, None)},
    "run accuracy --store new": {"workers": (1, 1024)},
    "status --store s": {"workers": (1, None)},
}
for command in ("train --d 3 --p 4", "certify --d 3 --p 4", "sample --d 3 --p 2", "instance --d 3 --p 4 --out no.npz"):
    BOUNDS[command] |= {"d": (1, DIMENSIONS), "p": (2, ASSOCIATIONS), "answers": (2, ASSOCIATIONS)}

BLOCK = "batch is 4, but must be 0 for this problem"
LINEAR = "but must be linear for an exact verdict"
NO_FACTS = "No facts are given: give --d, or a file with --instance and --vectors."
NO_SIZE = "The problem needs a size: give either --load or --p, and not both."
NO_STORE = "but must be the folder of a store, which holds records/."
REFUSED = f"""
train --d 3 | {NO_SIZE}
train --d 3 --p 4 --load 1 | {NO_SIZE}
train --d 10 --load 1e308 | load is 1e+308, but must be at least 0 and at most
train --d 100 --load 1e9 | load is 1000000000.0, but must be such that p is at least 2 and at most 2147483647
train --d 3 --load 0.01 | load is 0.01, but must be such that p is at least 2
train --d 3 --load nan | load is nan, but must be a finite number above 0.
train --d 3 --load -1 | load is -1.0, but must be a finite number above 0.
train --d 10 --p 5 --kappa 0 | kappa is 0.0, but must be a number in (0, 1].
train --d 10 --p 5 --kappa 1.5 | kappa is 1.5, but must be a number in (0, 1].
train --d 10 --p 5 --seconds 0 | seconds is 0.0, but must be a finite number above 0.
train --d 10 --p 50 --budget lots | budget is 'lots', but must be a size above 0 such as 8GiB
train --d 10 --p 50 --budget 1kB | raise the budget
train --problem decoupled --d 10 --p 50 --budget 1kB | raise the budget
train --d 10 --p 5 --colour red | No such option: --colour
train --d ten --p 5 | Invalid value for '--d'
train --problem other --d 9 --p 5 | problem is 'other', but must be one of original, decoupled, groups:g
train --law x --d 9 --p 5 | law is 'x', but must be one of gaussian
train --solver sgdd --d 9 --p 5 | solver is 'sgdd'
train --solver perceptrn --d 9 --p 5 | (did you mean 'perceptron'?)
train --solver perceptron --set learning_rate=1 --d 9 --p 5 | 'learning_rate', but must be a parameter of perceptron
train --set batch=4 --d 9 --p 5 | 'batch', but must be a parameter
train --set batch --d 9 --p 5 | set is 'batch', but must be of the form name=value, such as learning_rate=0.1.
train --set " =1" --d 9 --p 5 | set is ' =1', but must be of the form name=value
train --set "a= " --d 9 --p 5 | set is 'a= ', but must be of the form name=value
train --set a=1 --set a=2 --d 9 --p 5 | set is 'a=2', but must be given once for a.
train --solver minibatch --set batch=4 --problem decoupled --d 9 --p 5 | {BLOCK}
train --solver perceptron --kappa 0.5 --d 9 --p 5 | memory is 'a LowRank', but must be
train --stop soon --d 9 --p 5 | stop is 'soon'
train --solver hebbian --kappa 0.5 --d 9 --p 5 | kappa is 0.5
train --d 9 --p 5 --out nowhere/m.safetensors | nowhere is not a folder: make it first, or write elsewhere.
train --d 9 --p 5 --out " " | out is ' ', but must be the name of a file.
train --d 9 --p 5 --seeds 2 --out m.safetensors | must contain {{seed}} when --seeds is above 1.
train --d 9 --p 5 --checkpoint c.txt | checkpoint is 'c.txt', but must be the name of a file that ends in .npz.
train --d 9 --p 5 --checkpoint " " | checkpoint is ' ', but must be the name of a file.
train --d 9 --p 5 --checkpoint no/c.npz | no is not a folder
train --d 9 --p 5 --seeds 2 --checkpoint c.npz | seeds is 2, but must be 1 with --checkpoint, which holds one search.
train --d 9 --p 5 --answers 2 --frequencies a.txt | frequencies is 'a.txt', but must be uniform, balanced, zipf:s, or a
train --d 6 --p 12 --devices 2 | devices is 2, but must be 1, because JAX sees 1 CPU device.
train --d 6 --p 12 --devices 0 | devices is 0, but must be 1, because JAX sees 1 CPU device.
train --d 6 --p 12 --processes 2 | processes is 2, but must be left out without --coordinator
train --d 6 --p 12 --process 0 | process is 0, but must be left out without --coordinator
train --d 6 --p 12 --coordinator here | coordinator is 'here', but must be host:port of the first process
tain | No such command 'tain'
instance --d 9 --p 4 --out i.txt | out is 'i.txt', but must end in .npz.
instance --d 9 --p 4 --out "" | out is '', but must end in .npz.
instance --d 9 --p 4 --law x --out i.npz | law is 'x'
instance --d 9 --p 4 --out no/i.npz | no is not a folder
explore --out "" | out is '', but must be the name of a file.
certify | No instance is given: give --d with --p or --load, or a file with --instance.
certify --d 5 | {NO_SIZE}
certify --instance x.npz --d 5 | The instance is given twice: give either --instance or a size
certify --instance x.npz --p 5 | The instance is given twice
certify --instance x.npz --load 1 | The instance is given twice
certify --instance x.npz --answers 5 | The instance is given twice
certify --vectors v.txt | vectors is 'v.txt', but there are no facts: give their file with --instance.
certify --instance nowhere.npz | nowhere.npz is not a file
certify --instance nowhere.csv --vectors v.txt | nowhere.csv
certify --instance f.csv | f.csv cannot be read as an instance: it is text, not an archive of arrays.
certify --instance x.npz --problem both | problem is 'both', but must be one of original
certify --instance x.npz --problem decoupled | problem is 'decoupled', but must be left out, because the facts in x.npz
certify --instance x.npz --seed 3 | seed is 3, but must be left out with --instance
certify --instance x.npz --law sphere | law is 'sphere', but must be left out with --instance
certify --instance x.npz --frequencies balanced | frequencies is 'balanced', but must be left out with --instance
certify --d 5 --p 4 --out proof.txt | out is 'proof.txt', but must end in .npz.
certify --d 5 --p 4 --out nowhere/proof.npz | nowhere is not a folder
certify --d 5 --p 4 --out {300 * "n"}.npz | (File name too long)
certify --d 5 --p 4 --seconds 0 | seconds is 0.0, but must be a finite number above 0.
certify --d 5 --p 4 --budget much | budget is 'much'
certify --d 5 --p 5 --family blocks:2 | count is 2, but must be a divisor
certify --d 5 --p 5 --family masked:none.npy | none.npy is not a file
check nowhere.npz | nowhere.npz is not a file
capacity | {NO_FACTS}
capacity --instance f.csv | Facts in words need both: their file with --instance, and --vectors.
capacity --vectors v.txt | Facts in words need both
capacity --d 5 --instance f.csv {FACTS} | The facts are given twice: give either --instance or --d.
capacity --answers 5 --instance f.csv {FACTS} | The facts are given twice
capacity --problem decoupled --instance f.csv {FACTS} | problem is 'decoupled', but must be original for facts in words
capacity --seeds 2 --instance f.csv {FACTS} | seeds is 2, but must be left out with --instance
capacity --seed 1 --instance f.csv {FACTS} | seed is 1, but must be left out with --instance
capacity --law sphere --instance f.csv {FACTS} | law is 'sphere', but must be left out with --instance
capacity --frequencies balanced --instance f.csv {FACTS} | frequencies is 'balanced', but must be left out
capacity --seconds 0 --instance f.csv {FACTS} | seconds is 0.0, but must be a finite number above 0.
capacity --d 5 --problem both | problem is 'both'
capacity --d 5 --frequencies zipf:1 | but must be uniform unless a number of answers is given.
capacity --d 5 --family psd | family is 'psd', {LINEAR}
capacity --d 3 --budget "" | budget is ''
sample | No instance is given
sample --d 4 | {NO_SIZE}
sample --instance x.npz --d 4 | The instance is given twice
sample --instance nowhere.npz | nowhere.npz is not a file
sample --instance nowhere.npz --chains 1 | chains is 1, but must be a whole number of at least 2 and at most 4096.
sample --instance nowhere.npz --steps 1 | steps is 1, but must be a whole number of at least 2 and at most 1000000000.
sample --d 4 --p 4 --method gibbs | method is 'gibbs', but must be one of reflections, slices
sample --d 4 --p 4 --family psd | family is 'psd', but must be linear
sample --d 4 --p 4 --problem new | problem is 'new', but must be one of original, decoupled
sample --d 4 --p 40 | not storable, so there is no memory to sample
predict | give a dimension d, a number of facts, or both
predict --load 0.5 | give a dimension d
predict --d 10 --p 20 --load 1 | overdetermined
predict --p 1 | facts is 1, but must be a whole number of at least 2
predict --d 10 --kappa nan | kappa is nan, but must be a number in (0, 1].
predict --d 5 --load 0.001 | load is 0.001, but must be large enough for two facts
predict --d 5 --load -1 | load is -1.0, but must be a finite number above 0
predict --d 10 --answers 5 --load 0.5 | load is 0.5, but must be left out where answers
predict --d 10 --kappa 0.5 --memory skew | kappa is 0.5, but must be 1 with a family
predict --p 10 --kappa 0.5 --answers 5 | kappa is 0.5, but must be 1 unless d is given
predict --d 9 --memory psd --curves | memory is 'psd', but must be a linear family, such as full or
predict --d 10 --kappa 0.5 --curves | kappa is 0.5, but must be 1 with --curves: the minimiser is known at full rank
predict --d 9 --memory round | family is 'round', but must be one of full, rank:8
predict --d 9 --frequencies balanced | uniform unless a number of answers
predict --d 9 --answers 5 --frequencies zipf:-1 | frequencies is 'zipf:-1', but must be
predict --d 9 --margin -0.1 | margin is -0.1, but must be at least 0 and at most 1000.
predict --d 9 --problem both | problem is 'both', but must be one of original, decoupled.
predict --p 1000000000000000 --kappa 0.001 | facts is 1000000000000000, but must be few enough to fit
facts store f.csv --vectors v.txt | column 'subject' is not there in f.csv
facts store f.csv --vectors x.txt --columns country,capital | x.txt: No such file or directory.
facts store nowhere.csv --vectors v.txt | nowhere.csv: No such file
facts store f.csv --vectors v.txt --phrases some | phrases is 'some'
facts store f.csv --vectors v.txt --seconds 0 | seconds is 0.0
facts store f.csv {FACTS} --family rank:2 | family is 'rank:2', but must be linear
facts store f.csv --vectors v.txt --out no/b.book | no is not a folder
facts store f.csv --vectors v.txt --out " " | out is ' ', but must be the name of a file.
facts screen f.csv --vectors v.txt --columns country | columns is 'country', but must be two names with a comma
facts screen f.csv --vectors v.txt --columns "a, " | columns is 'a, ', but must be two names with a comma
facts screen f.csv --vectors v.txt --seconds 0 | seconds is 0.0
facts recall text France | a file that `loadstone facts store` wrote
facts recall b.book | Missing argument
facts budget text | a file that `loadstone facts store` wrote
facts budget nowhere.book | nowhere.book
facts budget b.book --seconds 0 | seconds is 0.0
facts budget b.book --vectors v.txt | vectors is 'v.txt', but must be left out without --more
facts budget b.book --more more.jsonl | line 1 of more.jsonl must be an object with
facts budget b.book --more many.csv | none of the 30
facts report text --out p.html | a file that `loadstone facts store` wrote
facts report b.book --out no/p.html | no is not a folder
facts report b.book --seconds nan | seconds is nan
facts edit text c.csv | a file that `loadstone facts store` wrote
facts edit b.book nowhere.csv | nowhere.csv: No such file
facts edit b.book f.csv | column 'subject' is not there in f.csv
facts edit b.book c.csv | the book has no vector for 'Rome', 'New Rome'
facts edit b.book c.csv --method rome | method is 'rome', but must be one of refit
facts edit b.book c.csv --vectors v.txt --out no/e.book | no is not a folder
facts edit b.book c.csv --vectors v.txt --old 2 | old is 2.0, but must be left out for the method refit
facts edit b.book c.csv --vectors v.txt --seconds -1 | seconds is -1.0
pack --store nowhere --out s.zip | store is 'nowhere', {NO_STORE}
pack --store s --out no/s.zip | no is not a folder
export --store . --out t.csv | store is '.', {NO_STORE}
export --store s --out " " | out is ' ', but must be the name of a file.
unpack nowhere.zip --store new | nowhere.zip is not a file: give the name
unpack text --store new | text cannot be unpacked: File is not a zip file.
unpack text --store text | store is 'text', which is a file
status --store none | store is 'none', {NO_STORE}
run accuracy --store new --scale huge | scale is 'huge', but must be one of quick, paper.
run accuracy --store new --engine loky | engine is 'loky', but must be one of auto, process, dask.
run accuracy --store new --patience 0 | patience is 0.0, but must be a finite number above 0.
run accuracy --store new --resource gpu | --resource, --tls-... and --trust-network need --scheduler-file or --address.
run accuracy --store new --trust-network | need --scheduler-file or --address.
run accuracy --store new --address tcp://a:1 --workers 2 | workers is 2, but a scheduler elsewhere has its own
run accuracy --store new --scheduler-file s.json --workers 1 | workers is 1, but a scheduler elsewhere has its own
run accuracy --store new --engine process --address tcp://a:1 | engine is 'process', which has one worker and no
run accuracy --store new --engine process --workers 2 | engine is 'process', which has one worker and no scheduler
run nothing.toml --store new | nothing.toml
reproduce --out text | out is 'text', which is a file: give the name of a folder.
reproduce --out "" | out is '', which is empty: give the name of a folder.
reproduce --out text/below | out is 'text/below', where no folder can be made: Not a directory.
reproduce nothing | figure is 'nothing', but must be one of
reproduce --scale huge | scale is 'huge', but must be one of quick, paper.
""".strip().splitlines()


@pytest.fixture
def refused(command, shared_folder):
    """The sentence of a command that is refused."""
    before = sorted((path, path.stat().st_mtime_ns) for path in shared_folder.rglob("*"))

    def sentence(words):
        done = command(*shlex.split(words), cwd=shared_folder)
        assert done.returncode == 2 and done.stdout == "", done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr.splitlines()

    yield sentence
    assert sorted((path, path.stat().st_mtime_ns) for path in shared_folder.rglob("*")) == before


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.partition(" | ")[0][:80])
def test_one_sentence_and_nothing_written(case, refused):
    words, _, sentence = case.partition(" | ")
    *earlier, last = refused(words)
    assert last.startswith("loadstone: ") and sentence in last
    # Facts are read, and what is left out is said, before a family is refused.
    assert not earlier or words.startswith("facts")


@pytest.mark.parametrize("words", BOUNDS)
def test_the_sentence_names_the_bounds_of_a_number(words, refused):
    for option, (least, most) in BOUNDS[words].items():
        (low,) = refused(f"{words} --{option} {least - 1}")
        assert low.startswith(f"loadstone: {option} is {least - 1}, but must be a whole number of at least {least}")
        if most is not None:
            (high,) = refused(f"{words} --{option} {most + 1}")
            assert f"{option} is {most + 1}, but must be" in high and high.endswith(f"and at most {most}.")
