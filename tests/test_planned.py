"""Memory, work, seconds and batches are planned as they were."""

import json

from tests.planned import KEPT, planned


def test_what_is_planned_is_what_was():
    now, kept = planned(), json.loads(KEPT.read_text())
    names = [name for name in now.keys() | kept.keys() if now.get(name) != kept.get(name)]
    changed = [f"{name}: {now.get(name)}, but {kept.get(name)} was kept" for name in sorted(names)]
    assert not changed, "\n".join([*changed[:9], "if that is meant, run `python -m tests.planned` and read the diff"])
