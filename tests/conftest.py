"""Strict settings for every test: no silent broadcasting between ranks, the same examples every time."""

import signal

import jax
from hypothesis import settings

jax.config.update("jax_numpy_rank_promotion", "raise")
# The first call of a compiled function takes seconds, so examples have no deadline.
settings.register_profile("strict", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("strict")

# A suite started in the background inherits a SIGINT that is ignored, and so would the commands that tests interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
