"""Ten commands say to people what they said before, and leave the same files."""

import re

import pytest

from tests.cli.golden import KEPT, commands_of, transcript

_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)")


def test_ten_commands_say_what_they_said():
    then = KEPT.read_text()
    commands = commands_of(then)
    assert len(commands) == 10
    advice = "if that is meant, run `python -m tests.cli.golden` and read the diff"
    for now, kept in zip(transcript(commands).split("\n\n"), then.split("\n\n"), strict=True):
        found, expected = _NUMBER.split(now), _NUMBER.split(kept)
        assert found[::2] == expected[::2], advice
        assert [float(number) for number in found[1::2]] == pytest.approx(
            [float(number) for number in expected[1::2]], rel=2e-3, abs=1e-9
        ), advice
