"""Readers of LP and VIPR files that share nothing with the writers, and compute with fractions."""

import re
from fractions import Fraction

_TERM = re.compile(r"([+-][\d.]+) (\w+)")


def read_lp(path):
    """Names of the unknowns, and for each constraint its name, {unknown: coefficient} and right side; all are >=."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("\\")]
    assert all(len(line) < 255 for line in lines), "a line that some readers do not take"
    start, bounds = lines.index("Subject To"), lines.index("Bounds")
    assert lines[0] == "Minimize" and lines[-1] == "End"
    unknowns = [line.split()[0] for line in lines[bounds + 1 : -1]]
    assert all(line.split()[1:] == ["free"] for line in lines[bounds + 1 : -1])
    rows = {}
    for constraint in re.split(r"\n (?=\w+:)", "\n" + "\n".join(lines[start + 1 : bounds]))[1:]:
        name, rest = constraint.split(":")
        left, right = rest.split(">=")
        assert not _TERM.sub("", left).strip()
        assert name not in rows
        rows[name] = {unknown: Fraction(number) for number, unknown in _TERM.findall(left)}, Fraction(right)
    return unknowns, rows


def check_vipr(path):
    """What a VIPR file of a linear program proves: 'infeasible' or 'feasible'; and its constraints as above."""
    words = iter(path.read_text().split())
    take = lambda *expected: [_expect(next(words), word) for word in expected]  # noqa: E731
    sparse = lambda: {int(next(words)): Fraction(next(words)) for _ in range(int(next(words)))}  # noqa: E731
    take("VER", "1.0", "VAR")
    unknowns = [next(words) for _ in range(int(next(words)))]
    take("INT", "0", "OBJ", "min", "0", "CON")
    count = int(next(words))
    take("0")
    rows = []
    for _ in range(count):
        name, sense, right = next(words), next(words), Fraction(next(words))
        assert sense == "G"
        rows.append((name, sparse(), right))
    take("RTP")
    if next(words) == "infeas":
        take("SOL", "0", "DER", "1")
        next(words)
        take("G", "1", "0", "{", "lin")
        weights = sparse()
        take("}", "-1")
        assert all(weight >= 0 for weight in weights.values())
        total = dict.fromkeys(range(len(unknowns)), Fraction(0))
        for index, weight in weights.items():
            for unknown, number in rows[index][1].items():
                total[unknown] += weight * number
        assert not any(total.values()), "the sum is not zero"
        assert sum(weight * rows[index][2] for index, weight in weights.items()) > 0, "the right side is not positive"
        shown = "infeasible"
    else:
        take("-inf", "0", "SOL", "1")
        next(words)
        values = sparse()
        for name, row, right in rows:
            assert sum(number * values.get(unknown, 0) for unknown, number in row.items()) >= right, name
        take("DER", "0")
        shown = "feasible"
    assert next(words, None) is None
    named = {name: ({unknowns[i]: number for i, number in row.items()}, right) for name, row, right in rows}
    return shown, unknowns, named


def _expect(word, expected):
    assert word == expected, f"{word} instead of {expected}"
