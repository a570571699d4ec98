"use strict";
// families.py, answers.py and facts.py for the browser: N facts, M answers, a family, a margin, N D(M) = delta.

function makeFamilies({ mergeLaw, probabilityMet, logPhiAt }, marginCodimension) {
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

  /** The cone of queries for which one fact's target wins; those of skew memories are orthogonal to the input. */
  function winning(family, d, answers) {
    const free = Math.max(1, Math.min(d - (family === "skew" ? 1 : 0), answers - 1));
    return winningQueries(mergeLaw(answers), answers, free);
  }

  const codimension = (answers, margin) => (margin > 0 ? marginCodimension(answers, margin) : mergeLaw(answers).mean);

  /** The N >= 2 with N D_kappa(N) = delta, linear between whole numbers; null if not even two facts fit. */
  function factsWithMargin(delta, margin) {
    const needed = (n) => n * marginCodimension(n, margin);
    if (needed(2) > delta) return null;
    // log(N D(N)) is nearly straight in log N: the secant method, then a comparison of neighbours.
    let low = 2, guess = 4;
    for (let i = 0; i < 30 && Math.abs(guess - low) > 1; i++) {
      const power = Math.log(needed(guess) / needed(low)) / Math.log(guess / low);
      [low, guess] = [guess, Math.max(2, Math.round(guess * (delta / needed(guess)) ** (1 / power)))];
    }
    low = guess;
    while (low > 2 && needed(low) > delta) low--;
    while (needed(low + 1) <= delta) low++;
    return low + (delta - needed(low)) / (needed(low + 1) - needed(low));
  }

  /** How many facts fit with M answers, or, if `answers` is null, where every fact brings its own. */
  function capacity(family, d, answers, margin) {
    if (answers !== null) {
      const { delta, variance, coins = 0 } = room(family, d, answers);
      const spread = variance ?? coins / 4;
      const fitting = halfStorable(mergeLaw(answers), winning(family, d, answers), delta, spread, logPhiAt);
      return margin > 0 ? Math.min(fitting, delta / codimension(answers, margin)) : fitting;
    }
    const everything = FAMILIES[family](d, d);
    if (margin > 0) return factsWithMargin(everything.delta, margin);
    const found = factsThatFit(() => everything.delta);
    if (found > d + 1 || room(family, d, 2) === null) return found;
    return factsThatFit((n) => room(family, d, n).delta);
  }

  function probability(facts, one, { delta, fixed, coins, variance }) {
    if (fixed !== undefined) return probabilityMet(facts, one, fixed, coins);
    if (variance === undefined) return null;
    const together = logPhiAt((delta - facts * one.mean) / Math.sqrt(facts * one.variance + variance));
    return Math.exp(facts * logAlone(one) + together);
  }

  /** The prediction under the names of `loadstone predict --json`; null where the family has no known room. */
  function predictFacts(d, facts, answers, family, margin = 0) {
    const m = answers ?? facts, seen = room(family, d, m), everything = FAMILIES[family](d, d);
    if (seen === null || everything === null) return null;
    const one = winning(family, d, m);
    return {
      facts_c: capacity(family, d, answers, margin), delta: seen.delta, D: codimension(m, margin),
      probability_storable: margin > 0 ? null : probability(facts, one, seen),
      share_alone: one.alone, impossible: facts * one.impossible,
    };
  }

  return { names: Object.keys(FAMILIES), predictFacts };
}
