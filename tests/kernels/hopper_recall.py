"""What every pass around a kernel for Hopper GPUs must do; a file of tests gives the pass and a stand-in for its kernel
(the fixture `kernel`)."""

import jax.numpy as jnp
import numpy as np

from tests.kernels.test_gpu_passes import agree, reference, rounded


class RecallOfAPass:
    """`passed(queries, outputs, targets, count)` gives recall and slopes; `rows` is how many rows a block has."""

    rows: int

    def passed(self, queries, outputs, targets, count=None):
        raise NotImplementedError

    def check_the_definition(self, n, m, d, count, scale):
        random = np.random.default_rng(n)
        queries, outputs = scale * rounded(random, n, d), rounded(random, m, d)
        targets = random.integers(0, count or m, n)
        recall, slope = self.passed(queries, outputs, targets, None if count is None else jnp.int32(count))
        rows, columns = (n, m) if count is None else (count, count)
        expected = reference(queries[:rows], np.broadcast_to(outputs[:columns], (rows, columns, d)), targets[:rows])
        agree([part[:rows] for part in recall], expected, 5e-4)  # weights of 11 bits
        np.testing.assert_allclose(slope[:rows], expected[3] - outputs[targets[:rows]], atol=3e-3)

    def check_far_levels(self, d, far):
        """Two blocks of queries, one of which has a rival far above what the others lead one to expect; gives the
        same queries without it."""
        random, n = np.random.default_rng(0), 2 * self.rows
        outputs = rounded(random, self.rows, d)
        queries = 0.1 * rounded(random, n, d)
        queries[far] = 8 * outputs[7]
        targets = np.zeros(n, int)
        recall, _ = self.passed(queries, outputs, targets)
        agree(recall, reference(queries, np.broadcast_to(outputs, (n, self.rows, d)), targets), 5e-4)
        queries[far] = 0.1 * outputs[7]
        return queries, outputs, targets

    def test_scores_of_any_size_are_served(self, kernel):
        """Rivals of a hundred standard deviations, in both directions: no weight overflows, none is lost."""
        random, n, d = np.random.default_rng(2), self.rows, 16
        outputs = rounded(random, n, d)
        for scale in (1e-3, 30.0):
            queries = (rounded(random, n, d) * np.float32(scale)).astype(np.float16).astype(np.float32)
            recall, _ = self.passed(queries, outputs, np.arange(n))
            agree(recall, reference(queries, np.broadcast_to(outputs, (n, n, d)), np.arange(n)), 1e-3)

    def test_a_perfect_memory_has_slopes_of_exactly_zero(self, kernel):
        outputs = 16 * np.eye(self.rows, 300, dtype=np.float32)
        _, slope = self.passed(16 * outputs, outputs, np.arange(self.rows))
        assert (np.asarray(slope) == 0).all()

    def test_without_a_rival_the_target_alone_counts(self, kernel):
        queries, outputs = np.ones((3, 5), np.float32), np.ones((1, 5), np.float32)
        recall, slope = self.passed(queries, outputs, np.zeros(3, int))
        np.testing.assert_allclose(recall.logsumexp, 5, rtol=1e-3)
        np.testing.assert_allclose(recall.target, 5, rtol=1e-6)
        assert (recall.rival == -np.inf).all() and (slope == 0).all()
