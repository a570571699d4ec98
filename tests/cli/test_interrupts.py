"""Interrupts that go through compiled code, which may make another error of them."""

import signal

import pytest

from loadstone.cli.interrupts import ends_like_an_interrupt


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("kind", [RuntimeError, SystemError])
def test_an_error_that_was_made_of_an_interrupt_is_the_interrupt(number, kind):
    with pytest.raises(KeyboardInterrupt) as found, ends_like_an_interrupt():
        try:
            signal.raise_signal(number)
        except KeyboardInterrupt:
            raise kind("compiled code failed") from None
    assert isinstance(found.value.__cause__, kind)


def test_other_errors_stay_what_they_are():
    with pytest.raises(RuntimeError, match="of its own"), ends_like_an_interrupt():
        raise RuntimeError("of its own")
    with pytest.raises(ValueError, match="user"), ends_like_an_interrupt():
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise ValueError("a user's mistake") from None
