"""Whether a record can come from a run: each of its numbers must be one that a run can give.

A checksum shows that a file is unchanged, not that a run wrote it. The values that a result may have are listed by task
(tasks/fields.py). Fields and statuses that are unknown there are accepted, because later versions may add some. Missing
fields are accepted too, except for the status.
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.runs.record import DamagedError, Record
from loadstone.tasks.fields import RESULT, contradiction
from loadstone.tasks.values import Field, Size, listed, number, whole, word

#: Fields that only a spec may have: in a result they could contradict it.
_OF_SPECS = frozenset(
    "problem d p seed kappa law solver parameters protocol stop precision family stored_dtype answers frequencies "
    "meaning".split()
)
SPEC: dict[str, Field] = {
    "problem": word,
    "solver": lambda value, size: word(value, size) or (isinstance(value, dict) and word(value.get("name"), size)),
    "law": word,
    "d": whole(1, 2**31),
    "p": whole(1, 2**63),
    "seed": whole(0, 2**64 - 1),
    "answers": whole(2, 2**31),
    "frequencies": lambda value, size: word(value, size) or listed(number(0))(value, size),
    "kappa": lambda value, size: number(0, 1)(value, size) and value != 0,
}
CIRCUMSTANCES: dict[str, Field] = {"seconds": number(0)}


def check_values(record: Record) -> None:
    """Refuse, as a DamagedError, a record with a value that no run can have, or without a status."""
    if "solver" in record.spec and "status" not in record.result:
        raise DamagedError("its result has no status, which every run leaves")
    check_parts(record.spec, record.result, record.circumstances)


def check_parts(spec: Mapping, result: Mapping, circumstances: Mapping) -> None:
    """The same for the three parts of a record, or of a summary of one."""
    _check("spec", spec, SPEC, Size())
    if both := _OF_SPECS.intersection(result):
        raise DamagedError(f"its result has {min(both)}, which only a spec has")
    size = Size(spec.get("p", Size().p), spec.get("d", Size().d), result.get("status") == "diverged")
    _check("result", result, RESULT, size)
    _check("circumstances", circumstances, CIRCUMSTANCES, size)
    if why := contradiction(spec, result):
        raise DamagedError(why)


def _check(part: str, values: Mapping, fields: Mapping[str, Field], size: Size) -> None:
    for name, possible in fields.items():
        if name in values and not possible(values[name], size):
            raise DamagedError(f"the {name} of its {part} is {str(values[name])[:60]}, which no run has")
