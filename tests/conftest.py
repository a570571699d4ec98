"""Strict settings for every test: no silent broadcasting between ranks, the same examples every time."""

import jax
from hypothesis import settings

jax.config.update("jax_numpy_rank_promotion", "raise")
# The first call of a compiled function takes seconds, so examples have no deadline.
settings.register_profile("strict", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("strict")
