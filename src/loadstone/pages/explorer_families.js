"use strict";
// families.py, answers.py and facts.py for the browser: N facts, M answers, a family of memories, N D(M) = delta.

function makeFamilies({ mergeLaw, probabilityMet, logPhiAt }) {
  const subspace = (n) => ({ delta: n, fixed: n, coins: 0 });

  /** E min(B, r) for B ~ Binomial(d, 1/2): the sum of P(B > k) over k < r. */
  function meanBelow(d, r) {
    let term = -d * Math.LN2, above = 1, mean = 0;
    for (let k = 0; k < r; k++) {
      above -= Math.exp(term);
      mean += Math.max(0, above);
      term += Math.log((d - k) / (k + 1));
    }
    return mean;
  }

  function blocks(d, r, count) {
    if (count > d) return null;
    const size = Math.floor(d / count), larger = d % count;
    return subspace(larger * (size + 1) * Math.min(size + 1, r) + (count - larger) * size * Math.min(size, r));
  }

  /** Room of each family in d dimensions of which r are shown; null where it is not known or there is none. */
  const FAMILIES = {
    full: (d, r) => subspace(d * r),
    symmetric: (d, r) => subspace(d * r - (r * (r - 1)) / 2),
    traceless: (d, r) => (d > 1 ? subspace(d * r - (r * (r - 1)) / 2 - (r === d ? 1 : 0)) : null),
    skew: (d, r) => (d > 1 ? subspace(d * r - (r * (r + 1)) / 2) : null),
    "blocks:2": (d, r) => blocks(d, r, 2),
    "blocks:8": (d, r) => blocks(d, r, 8),
    circulant: (d) => subspace(d),
    diagonal: (d) => subspace(d),
    nonnegative: (d, r) => (r === d ? { delta: (d * d) / 2, fixed: 0, coins: d * d } : { delta: d * meanBelow(d, r) }),
    psd: (d, r) => (r < d ? null : {
      delta: (d * (d + 1)) / 4,
      variance: (4 / Math.PI ** 2 - 1 / 4) * d * d + (1 / 2 - 4 / Math.PI ** 2) * d,
    }),
  };

  const room = (family, d, answers) => FAMILIES[family](d, Math.min(d, Math.max(1, answers - 1)));

  /** The N >= 1 with N D(N) = delta, linear between whole numbers; delta may depend on N. */
  function factsThatFit(delta) {
    const needed = (n) => (n > 1 ? n * mergeLaw(n).mean : 0);
    let low = 1, high = 2;
    while (needed(high) <= delta(high)) [low, high] = [high, 2 * high];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (needed(middle) <= delta(middle)) low = middle;
      else high = middle;
    }
    const here = delta(Math.max(2, low)), there = delta(high);
    return low + (here - needed(low)) / (needed(high) - needed(low) - (there - here));
  }

  /** How many facts fit with M answers, or, if `answers` is null, where every fact brings its own. */
  function capacity(family, d, answers) {
    if (answers !== null) return room(family, d, answers).delta / mergeLaw(answers).mean;
    const everything = FAMILIES[family](d, d), found = factsThatFit(() => everything.delta);
    if (found > d + 1 || room(family, d, 2) === null) return found;
    return factsThatFit((n) => room(family, d, n).delta);
  }

  function probability(facts, answers, { delta, fixed, coins, variance }) {
    if (fixed !== undefined) return probabilityMet(facts, answers, fixed, coins);
    if (variance === undefined) return null;
    const law = mergeLaw(answers);
    return Math.exp(logPhiAt((delta - facts * law.mean) / Math.sqrt(facts * law.variance + variance)));
  }

  /** The prediction under the names of `loadstone predict --json`; null where the family has no known room. */
  function predictFacts(d, facts, answers, family) {
    const m = answers ?? facts, seen = room(family, d, m), everything = FAMILIES[family](d, d);
    if (seen === null || everything === null) return null;
    return {
      facts_c: capacity(family, d, answers), delta: seen.delta, D: mergeLaw(m).mean,
      probability_storable: probability(facts, m, seen),
    };
  }

  return { names: Object.keys(FAMILIES), predictFacts };
}
