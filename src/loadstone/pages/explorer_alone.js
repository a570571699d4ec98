"use strict";
// alone.py for the browser: facts that no memory can store, and the queries for which the others win.

/** From the law v_k(M) of the cone of scores: that of its section by the queries, which have d dimensions. */
function winningQueries({ v, mean, variance }, answers, d) {
  if (d + 1 >= Math.min(answers, v.length)) return { alone: 1, impossible: 0, v, mean, variance };
  let impossible = 0, alone = 0, rest = 0, total = 0;
  for (let k = d + 1; k < v.length; k += 2) impossible += 2 * v[k];
  for (let k = d - 1; k >= 0; k -= 2) alone += 2 * v[k];
  // Both sum to 1; the smaller one has all its digits.
  if (impossible < 0.5) alone = 1 - impossible;
  else impossible = 1 - alone;
  for (let k = v.length - 1; k >= d; k--) rest = v[k] - rest;
  const section = Float64Array.from({ length: d + 1 }, (_, k) => (k < d ? v[k] : Math.max(0, rest)));
  for (const mass of section) total += mass;
  const found = { alone, impossible, v: section.map((mass) => mass / total), mean: 0, variance: 0 };
  found.v.forEach((mass, k) => (found.mean += k * mass));
  found.v.forEach((mass, k) => (found.variance += (k - found.mean) ** 2 * mass));
  return found;
}

/** The logarithm of the probability that one fact can be stored alone. */
const logAlone = ({ alone, impossible }) => (impossible < 0.5 ? Math.log1p(-impossible) : Math.log(alone));

/** The N at which half of all instances are storable: delta / D(M) while all facts can be stored alone. */
function halfStorable(law, one, delta, variance, logPhiAt) {
  const byLaw = delta / law.mean, alone = logAlone(one);
  if (byLaw * one.impossible < 1e-12) return byLaw;
  const excess = (n) =>
    n * alone + logPhiAt((delta - n * one.mean) / Math.sqrt(n * one.variance + variance)) + Math.LN2;
  let low = 0, high = delta / one.mean;
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (excess(middle) > 0) low = middle;
    else high = middle;
  }
  return low;
}
