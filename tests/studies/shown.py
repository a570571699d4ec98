"""What a figure shows, in a form that can be kept and compared: texts, axes, and for each artist its style and data;
the numbers that are written beside it; and what the runs gave that it shows.

    python -m tests.studies.shown      # after a deliberate change: rewrite shown.json and ran.json, and read the diff

A figure has hundreds of numbers, colours and words, and no formula says what they should be. So the test that draws it
compares it with what a person has looked at. Its runs are repeated in the test, and another kind of processor rounds
otherwise: a search may then end elsewhere. So the comparison is made on the kind of processor that the file names, and
skipped on others.
"""

import hashlib
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.ticker import FixedFormatter

KEPT = Path(__file__).with_name("shown.json")
RAN = Path(__file__).with_name("ran.json")
REWRITE = "LOADSTONE_REWRITE_SHOWN"
#: Numbers may differ by so much of the largest beside them: runs are repeated on the reader's machine.
TOLERANCE = 2e-3
#: Of a comparison: these follow from its other numbers, and rounding may change them much.
DERIVED = ("deviations", "chance", "within", "in_words", "verdict")
#: Differences between the losses of two precisions are themselves rounding: so much tells nothing.
NOISE = 1e-5


def shown(figure):
    """A figure as nested lists of texts and numbers."""
    texts = [figure.get_suptitle(), *(_legend(one) for one in figure.legends)]
    return [texts, *(_panel(panel) for panel in figure.axes)]


def _panel(panel):
    axes = [
        [one.get_label_text(), scale, _numbers(limits), _ticks(one)]
        for one, scale, limits in (
            (panel.xaxis, panel.get_xscale(), panel.get_xlim()), (panel.yaxis, panel.get_yscale(), panel.get_ylim())
        )
    ]  # fmt: skip
    words = [[text.get_text(), _numbers(text.get_position())] for text in panel.texts]
    lines = [[*_style(one), _data(one.get_xdata()), _data(one.get_ydata())] for one in panel.lines]
    areas = [
        [str(one.get_label()), len(paths), *(_data(part) for part in np.concatenate(paths).T)]
        for one in panel.collections
        if (paths := [path.vertices for path in one.get_paths()])
    ]
    boxes = [one.get_patch_transform().transform_path(one.get_path()).get_extents().bounds for one in panel.patches]
    bars = [_data(side) for side in zip(*boxes)]  # left, lower, width and height
    legend = [_legend(panel.get_legend())] if panel.get_legend() else []
    return [panel.get_title(), axes, words, lines, areas, bars, legend]


def _style(line):
    marker, face = line.get_marker(), line.get_markerfacecolor()
    look = (to_hex(line.get_color()), line.get_linestyle(), marker, face if face == "none" else to_hex(face))
    return " ".join([str(line.get_label()), *map(str, look)]), _numbers([line.get_linewidth(), line.get_markersize()])


def _legend(legend):
    return [text.get_text() for text in legend.get_texts()] + [str(legend._ncols)]


def _ticks(axis):
    """Ticks that a figure chose itself."""
    formatter = axis.get_major_formatter()
    return list(formatter.seq) + _numbers(axis.get_majorticklocs()) if isinstance(formatter, FixedFormatter) else []


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
    """Where a figure is not what was kept, in words."""
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


def sentence(text):
    """Words, and the numbers between them."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [[float(part)] if place % 2 else part for place, part in enumerate(parts)]


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


def compare_with_kept(name, figure, numbers, remarks, comparisons):
    """Fail if a figure, its numbers and what is said about it are not what they were."""
    judged = [flat({name: value for name, value in one.as_row().items() if name not in DERIVED}) for one in comparisons]
    compare(KEPT, name, [*shown(figure), brief(numbers), [sentence(text) for text in remarks], judged])


def compare(file, name, found, kept_by="tests.studies.shown"):
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


if __name__ == "__main__":
    from tests.compiler import flags

    # Numbers are kept as programs compiled for `make test` give them.
    os.environ |= {REWRITE: "yes", "OPENBLAS_NUM_THREADS": "1", "XLA_FLAGS": " ".join(flags())}
    tests = "shows_what_it_did or what_it_gave"
    sys.exit(pytest.main(["-q", "-n", "0", "tests/studies/test_registry.py", "-k", tests]))
