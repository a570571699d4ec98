"""Commands answer what they answered before: words, numbers, exit codes and files."""

import json

from tests.cli.answered import KEPT, answered
from tests.kept import differences


def test_commands_answer_what_they_did():
    found = list(differences(answered(), json.loads(KEPT.read_text())))
    assert not found, "\n".join([*found[:9], "if that is meant, run `python -m tests.cli.answered` and read the diff"])
