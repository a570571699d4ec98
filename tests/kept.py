"""Comparing what something gives with what it gave when a person last looked at it, kept as JSON.

No formula says what some hundreds of numbers and words should be. Where they come from runs that a test repeats,
another kind of processor rounds otherwise, and a search may then end elsewhere: `compare` is made on the kind of
processor that the file names, and skipped on others.
"""

import hashlib
import json
import os

import numpy as np
import pytest

REWRITE = "LOADSTONE_REWRITE_SHOWN"
#: Numbers may differ by so much of the largest beside them.
TOLERANCE = 2e-3
#: Differences between the losses of two precisions are themselves rounding: so much tells nothing.
NOISE = 1e-5


def _data(values):
    """How many there are, and their first, mean and last, beside the largest."""
    values = np.asarray(values, float)
    finite = values[np.isfinite(values)]
    if not len(finite):
        return [f"{len(values)} values"]
    return [f"{len(values)} values", _numbers([values[0], finite.mean(), values[-1], np.abs(finite).max()])]


def _numbers(values):
    """Numbers that are compared with each other's size."""
    return [float(f"{value:.5g}") if np.isfinite(value) else str(value) for value in np.asarray(values, float).ravel()]


def differences(now, then, where=""):
    """Where it is not what was kept, in words."""
    if isinstance(now, dict) and isinstance(then, dict) and now.keys() == then.keys():
        for name in now:
            yield from differences(now[name], then[name], f"{where}/{name}")
    elif isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        numbers = [abs(one) for one in now + then if isinstance(one, float)]
        for place, (one, other) in enumerate(zip(now, then)):
            if isinstance(one, float) and isinstance(other, float):
                if abs(one - other) > TOLERANCE * max(numbers) + NOISE:
                    yield f"{where}: {one:g}, but {other:g} was kept"
            else:
                yield from differences(one, other, f"{where}/{place}")
    elif now != then:
        yield f"{where}: {now!r}, but {then!r} was kept"


def written(value, indent=""):
    """As JSON, with what fits into a line in one line."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) < 150 or not isinstance(value, list | dict):
        return line
    named = isinstance(value, dict)
    parts = [f"{json.dumps(name)}: {written(part, indent + ' ')}" for name, part in value.items()] if named else [
        written(part, indent + " ") for part in value
    ]  # fmt: skip
    first, last = "{}" if named else "[]"
    return f"{first}\n" + ",\n".join(f"{indent} {part}" for part in parts) + f"\n{indent}{last}"


def flat(value):
    """Lists of names and values, each number by itself: it is compared with its own size."""
    if isinstance(value, dict):
        return [[name, flat(one)] for name, one in value.items()]
    if isinstance(value, list | tuple):
        return [flat(one) for one in value]
    return [float(f"{value:.6g}")] if isinstance(value, int | float) and not isinstance(value, bool) else value


def processor():
    """The kind of processor, and what it is made to do by the environment."""
    from loadstone.kernels.shared_cpu import _processor  # not before the tests' own import hooks

    told = [os.environ.get(name, "") for name in ("XLA_FLAGS", "OPENBLAS_CORETYPE", "LOADSTONE_CPU_KERNEL_FLAGS")]
    return hashlib.sha256("".join([_processor(), *told]).encode()).hexdigest()[:16]


def brief(value):
    """Lists of names and values, as in `flat`, but of many numbers what `_data` tells and where their middle lies."""
    if isinstance(value, dict):
        return [[name, brief(one)] for name, one in value.items()]
    if isinstance(value, list | tuple):
        if len(value) > 6 and all(isinstance(one, int | float) for one in value):
            return [*_data(value), _numbers([np.mean(value * np.linspace(0, 1, len(value)))])]
        return [brief(one) for one in value]
    return flat(value)


def compare(file, name, found, kept_by):
    """Fail if something is not what is kept under its name, or keep it if that was asked for; skip on another kind of
    processor."""
    kept = json.loads(file.read_text()) if file.exists() else {}
    if REWRITE not in os.environ and kept.get("processor") != processor():
        pytest.skip(f"{file.name} was written on another kind of processor, which rounds otherwise")
    now = json.loads(json.dumps(found))
    if REWRITE in os.environ:
        kept |= {name: now, "processor": processor()}
        file.write_text(written(dict(sorted(kept.items()))) + "\n")
    else:
        found = list(differences(now, kept.get(name), name))
        advice = f"if that is meant, run `python -m {kept_by}` and read the diff of {file.name}"
        assert not found, "\n".join([*found[:9], advice])
