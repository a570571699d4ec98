"use strict";
// What loadstone.theory predicts, for the browser: the same formulas on the same kind of grid, so the same digits.
// `tables` holds what would need special functions here: log b_k, and log Phi(tau) for tau = first, first + step, ...

function makeTheory(tables) {
  const { step, first, logPhi, logAngles } = tables;
  const tau = logPhi.map((_, i) => first + i * step);
  const halfSquare = tau.map((t) => (t * t) / 2);
  // Terms below e^-52 add less than 1e-19 to anything that is shown.
  const NEGLIGIBLE = -52;
  const HEBBIAN_CAPACITY = 1 / 8;

  // --- cone.py: the law of the number k of rivals that the projection onto K_p merges with the target ---

  /** How many k's there are up to where their law vanishes. */
  const countMerged = (p) => Math.min(p, Math.floor(30 + 4.5 * Math.log(p)));

  /** visit(k, i, log f(k, tau_i)) wherever f counts. For each k its logarithm is concave in tau: one stretch of i's. */
  function eachTerm(p, visit) {
    let logChoose = 0, top = tau.length >> 1;
    for (let k = 0; k < countMerged(p); k++) {
      if (k > 0) logChoose += Math.log((p - k) / k);
      const weight = logChoose + logAngles[k] + 0.5 * Math.log((k + 1) / (2 * Math.PI));
      const logDensity = (i) => weight + (p - 1 - k) * logPhi[i] - (k + 1) * halfSquare[i];
      // The top lies near that of the k before.
      while (top + 1 < tau.length && logDensity(top + 1) > logDensity(top)) top++;
      while (top > 0 && logDensity(top - 1) > logDensity(top)) top--;
      for (let i = top, term; i < tau.length && (term = logDensity(i)) > NEGLIGIBLE; i++) visit(k, i, term);
      for (let i = top - 1, term; i >= 0 && (term = logDensity(i)) > NEGLIGIBLE; i--) visit(k, i, term);
    }
  }

  const laws = new Map();

  /** v_k(p), its mean D(p) and its variance; remembered, because a moving slider asks for the same p again. */
  function mergeLaw(p) {
    if (laws.has(p)) return laws.get(p);
    if (laws.size > 5000) laws.clear();
    const v = new Float64Array(countMerged(p));
    eachTerm(p, (k, i, term) => (v[k] += Math.exp(term)));
    let mean = 0, variance = 0;
    for (let k = 0; k < v.length; k++) mean += k * (v[k] *= step);
    for (let k = 0; k < v.length; k++) variance += (k - mean) ** 2 * v[k];
    const law = { v, mean, variance };
    laws.set(p, law);
    return law;
  }

  // --- load.py and capacity.py ---

  const load = (p, d) => (p * Math.log(p)) / d ** 2;

  /** The real p with p log p = room: p = e^w with w e^w = room, by Newton's method on w + log w = log room. */
  function associations(room) {
    let w = room > Math.E ? Math.log(room) - Math.log(Math.log(room)) : room / (1 + room);
    for (let i = 0; i < 40; i++) w = Math.max(w * 1e-3, (w * (1 + Math.log(room / w))) / (1 + w));
    return Math.exp(w);
  }

  /** The theta at which the quarter circle has the mass 1 - kappa up to s = 2 sin(theta). */
  function lowerAngle(kappa) {
    let low = 0, high = Math.PI / 2;
    for (let i = 0; i < 80; i++) {
      const middle = (low + high) / 2;
      if ((2 * middle + Math.sin(2 * middle)) / Math.PI < 1 - kappa) low = middle;
      else high = middle;
    }
    return low;
  }

  /** alpha_c(kappa), in the limit. */
  function capacity(kappa) {
    if (kappa === 1) return 0.5;
    const theta = lowerAngle(kappa);
    return 0.5 * (1 - (2 * theta - Math.sin(4 * theta) / 2) / Math.PI);
  }

  const needed = (p) => (p > 1 ? p * mergeLaw(p).mean : 0);

  /** p_c: the p >= 1 with p D(p) = 2 alpha_c(kappa) d^2, linear between whole numbers. */
  function capacityAssociations(d, kappa) {
    const room = 2 * capacity(kappa) * d ** 2;
    // log(p D(p)) is nearly straight in log p, so the secant method needs only a few whole numbers ...
    let low = Math.max(2, Math.round(associations(room / 2))), guess = Math.round(1.3 * low) + 1;
    for (let i = 0; i < 20 && Math.abs(guess - low) > 1; i++) {
      const slope = Math.log(needed(guess) / needed(low)) / Math.log(guess / low);
      low = guess;
      guess = Math.max(2, Math.round(guess * Math.exp(Math.log(room / needed(guess)) / slope)));
    }
    // ... and the comparison of neighbours decides.
    low = guess;
    while (low > 1 && needed(low) > room) low--;
    while (needed(low + 1) <= room) low++;
    return low + (room - needed(low)) / (needed(low + 1) - needed(low));
  }

  /** The least whole d whose capacity is at least p. */
  function leastDimension(p, kappa) {
    return Math.max(1, Math.ceil(Math.sqrt(needed(p) / (2 * capacity(kappa))) - 1e-9));
  }

  function roundHalfEven(x) {
    const below = Math.floor(x), rest = x - below;
    return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below;
  }

  const rank = (d, kappa) => Math.max(1, roundHalfEven(kappa * d));

  function parameters(d, kappa) {
    const m = rank(d, kappa);
    return 2 * d * m - m ** 2;
  }

  /** log x!, for real x >= 0: Stirling's series above 16, the product rule below it. For x = 2 to the last digit. */
  function logFactorial(x) {
    if (x === 2) return Math.LN2;
    let n = x, product = 1;
    while (n < 16) product *= ++n;
    const r = 1 / (n * n);
    const series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / n;
    return (n + 0.5) * Math.log(n) - n + 0.5 * Math.log(2 * Math.PI) + series - Math.log(product);
  }

  const bitsPerParameter = (p, d, kappa) => logFactorial(p) / Math.LN2 / parameters(d, kappa);

  // --- storable.py: 2 [P(N = d^2 - 1) + P(N = d^2 - 3) + ...] for N the sum of p independent k's ---

  /**
   * P(storable), exactly, without the law of N. Half of the mass of N lies on the numbers of either parity, so
   * P = 1/2 + E s(N - d^2 + 1), with s = +1 on 0, -2, -4, ..., -1 on 2, 4, ..., and 0 between. Continued as a square
   * wave of a period L beyond which N has no mass, s has the frequencies w = 2 pi j / L, j odd, and
   *
   *     P = 1/2 + (4 / L) sum_w |phi(w)|^p sin(w d^2 - p arg phi(w)) / sin(w),   phi(w) = E exp(i w k).
   */
  const probabilityStorable = (p, d) => probabilityMet(p, winningQueries(mergeLaw(p), p, d), d * d, 0);

  /** The same for N facts with winning queries of this law, times the probability that each can be stored alone, and
   * for memories whose J is `fixed` plus fair coins, each with phi = cos(w / 2). */
  function probabilityMet(p, one, fixed, coins) {
    const { v, mean, variance } = one, allAlone = Math.exp(p * logAlone(one));
    const deviation = Math.sqrt(p * variance + coins / 4), away = fixed + coins / 2 - p * mean;
    if (Math.abs(away) > 40 * deviation + v.length) return away > 0 ? allAlone : 0;
    const period = 4 * Math.ceil((Math.abs(away) + 20 * deviation + v.length) / 2);
    let total = 0, sum = 0;
    for (const mass of v) total += mass;
    for (let j = 1; 2 * j < period; j += 2) {
      const w = (2 * Math.PI * j) / period;
      // phi(w) = exp(i w mean) (1 - a + i b) with a and b small: raised to the power p, nothing of them may be lost.
      // Sines and cosines of w (k - mean) / 2 come from those of the k before.
      const turnCos = Math.cos(w / 2), turnSin = Math.sin(w / 2);
      let cos = Math.cos((w * mean) / 2), sin = -Math.sin((w * mean) / 2), a = 0, b = 0;
      for (let k = 0; k < v.length; k++) {
        a += v[k] * sin * sin;
        b += v[k] * sin * cos;
        const next = sin * turnCos + cos * turnSin;
        cos = cos * turnCos - sin * turnSin;
        sin = next;
      }
      a *= 2 / total;
      b *= 2 / total;
      const logModulus = (p / 2) * Math.log1p(a * a - 2 * a + b * b) + coins * Math.log(Math.abs(turnCos));
      if (logModulus < NEGLIGIBLE && w * deviation > 6) break;
      sum += (Math.exp(logModulus) * Math.sin(w * away - p * Math.atan2(b, 1 - a))) / Math.sin(w);
    }
    return allAlone * Math.min(1, Math.max(0, 0.5 + (4 / period) * sum));
  }

  // --- hebbian.py ---

  /** Mean and deviation of a target's score, in units of the deviation of other scores. */
  function hebbianScores(p, d) {
    const off = p + 2 * d + 2;
    return { mean: d / Math.sqrt(off), deviation: Math.sqrt((p + 4 * d + 3) / off) };
  }

  const normal = (x) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);

  // The logarithm of -log Phi is smooth enough to be interpolated between the entries of its table.
  const doubleLog = logPhi.map((value) => Math.log(-value));

  /** log Phi(x) by the polynomial through six neighbours; beyond the table it is 0 or as good as -infinity. */
  function logPhiAt(x) {
    const place = (x - first) / step, i = Math.floor(place), u = place - i;
    if (i < 2) return -Infinity;
    if (i + 3 >= tau.length) return 0;
    const one = u * u - 1, four = u * u - 4, three = u - 3;
    return -Math.exp(
      (-u * one * (u - 2) * three * doubleLog[i - 2]) / 120 + (u * (u - 1) * four * three * doubleLog[i - 1]) / 24 -
      (one * four * three * doubleLog[i]) / 12 + (u * (u + 1) * four * three * doubleLog[i + 1]) / 12 -
      (u * one * (u + 2) * three * doubleLog[i + 2]) / 24 + (u * one * four * doubleLog[i + 3]) / 120);
  }

  /** Gauss's nodes and weights between two bounds: eigenvalues of the law's Jacobi matrix, by bisection. */
  function gaussNodes(diagonal, beside, least, most, count) {
    const nodes = [];
    const below = (x) => {
      let found = 0, pivot = 1;
      for (let k = 0; k < count; k++) {
        pivot = diagonal(k) - x - (k > 0 ? beside(k) / pivot : 0);
        if (pivot === 0) pivot = 1e-300;
        if (pivot < 0) found++;
      }
      return found;
    };
    for (let place = 0; place < count; place++) {
      let low = least, high = most;
      for (let middle; (middle = (low + high) / 2) > low && middle < high; ) {
        if (below(middle) > place) high = middle;
        else low = middle;
      }
      // The weight is one over the sum of the squares of the orthonormal polynomials there.
      let last = 0, value = 1, squares = 1;
      for (let k = 0; k + 1 < count; k++) {
        const next = ((low - diagonal(k)) * value - Math.sqrt(beside(k)) * last) / Math.sqrt(beside(k + 1));
        [last, value] = [value, next];
        squares += next * next;
      }
      nodes.push([low, 1 / squares]);
    }
    return nodes;
  }

  /** Nodes for a mean over the chi-square law. */
  function chiSquareNodes(freedom, count) {
    if (freedom === 0) return [[0, 1]];
    const shape = freedom / 2 - 1, most = 4 * count + 2 * shape + 4 * Math.sqrt(count * (count + shape)) + 4;
    const nodes = gaussNodes((k) => 2 * k + shape + 1, (k) => k * (k + shape), 0, most, count);
    return nodes.map(([x, weight]) => [2 * x, weight]);
  }

  /** The same for one component of a random unit vector. */
  function componentNodes(dimensions, count) {
    if (dimensions === 1) return [[-1, 0.5], [1, 0.5]];
    const shape = dimensions / 2 - 1, first = 1 / (2 * (1 + shape));
    // Written out where the general form is 0 / 0 in two or four dimensions.
    const beside = (k) => (k < 2 ? k * first : (k * (k + 2 * shape - 1)) / (4 * (k + shape) * (k + shape - 1)));
    return gaussNodes(() => 0, beside, -1, 1, count);
  }

  const [LENGTHS, SUMS, RIVALS, Z_REACH, Z_STEP, FAR] = [8, 3, 12, 45, 0.2, 9];

  /**
   * Probability that one fact is recalled and that it is not, lengths of vectors taken into account: a and b are those of
   * input and output, s and c those of the sum of the others, t the weight of a rival in it. A share near 0 is summed
   * rather than taken from 1, so that it keeps its digits.
   */
  function hebbianRecall(p, d) {
    const own = chiSquareNodes(d, LENGTHS), across = chiSquareNodes(d - 1, SUMS), sums = chiSquareNodes(p - 1, SUMS);
    const rivals = componentNodes(p - 1, RIVALS), places = rivals.map(([t]) => t), weights = rivals.map(([, w]) => w);
    const widths = places.map((t) => Math.sqrt(Math.max(1 - t * t, 1e-30)));
    const mean = (sign, target, along) => {
      let sum = 0;
      for (let i = 0; i < places.length; i++) {
        const x = (sign * (target - places[i] * along)) / widths[i];
        // Beyond this nothing is left that a probability shows.
        if (x > -FAR) sum += weights[i] * (x < FAR ? Math.exp(logPhiAt(x)) : 1);
      }
      return sum;
    };
    let stored = 0, failed = 0;
    for (const [a, ofA] of own) for (const [b, ofB] of own) for (const [c, ofC] of across) for (const [s, ofS] of sums) {
      const both = Math.sqrt(a * b), root = Math.sqrt(s), share = ofA * ofB * ofC * ofS * Z_STEP;
      for (let i = -Z_REACH; i <= Z_REACH; i++) {
        const z = i * Z_STEP, r = both + root * z, length = Math.sqrt(r * r + s * c);
        const target = (Math.sqrt(b) * r) / length, along = (both * z + root * (z * z + c)) / length;
        const beaten = mean(-1, target, along);
        const logAllBelow = (p - 1) * (beaten < 0.5 ? Math.log1p(-beaten) : Math.log(mean(1, target, along)));
        stored += share * normal(z) * Math.exp(logAllBelow);
        failed -= share * normal(z) * Math.expm1(logAllBelow);
      }
    }
    return failed < 0.99 ? { stored: 1 - failed, failed } : { stored, failed: 1 - stored };
  }

  // --- scores.py: at capacity, on the grid of tau ---

  // Weights over 1440 of six neighbours for the integral between the middle two, exact for polynomials of degree five.
  const SIX = [11, -93, 802, 802, -93, 11];

  /** Densities of the target's score and of a random rival's, at every tau. */
  function scoreLaws(p) {
    const size = tau.length;
    const target = new Float64Array(size), merged = new Float64Array(size), free = new Float64Array(size);
    eachTerm(p, (k, i, term) => {
      const density = Math.exp(term);
      target[i] += density;
      merged[i] += (k * density) / (p - 1);
      free[i] += ((p - 1 - k) / (p - 1)) * Math.exp(term - logPhi[i]);
    });
    const rival = new Float64Array(size);
    let beyond = 0;
    for (let i = size - 2; i >= 0; i--) {
      SIX.forEach((weight, place) => (beyond += ((step * weight) / 1440) * (free[i - 2 + place] ?? 0)));
      rival[i] = normal(tau[i]) * beyond + merged[i];
    }
    return { tau, target, rival };
  }

  // --- spectra.py: curves as points (s, density), finer where a curve is steep; their integral is kappa ---

  /** The part of the quarter circle above its lower edge. */
  function spectrumAtCapacity(kappa, count = 160) {
    const edge = kappa === 1 ? 0 : lowerAngle(kappa);
    const points = [];
    for (let i = 0; i <= count; i++) {
      const theta = edge + ((Math.PI / 2 - edge) * i) / count;
      points.push([2 * Math.sin(theta), (2 * Math.cos(theta)) / Math.PI]);
    }
    return { points, lower: 2 * Math.sin(edge), atom: 1 - kappa };
  }

  /** W = Q R^T of Gaussian factors, explicit in the angle from the lower to the upper edge. */
  function spectrumInitial(kappa, count = 160) {
    const scale = 2 * Math.sqrt((kappa * (2 + kappa)) / 3);
    const c = Math.sqrt((27 * kappa) / (2 + kappa) ** 3);
    const remainder = (1 - kappa) * Math.sqrt((8 + kappa) / (2 + kappa) ** 3);
    const x = (re, im) =>
      (Math.hypot(1 + re, im) * Math.hypot(1 + kappa * re, kappa * im) ** 2) / Math.hypot(re, im);
    const top = x(2 / (kappa + Math.sqrt(kappa ** 2 + 8 * kappa)), 0);
    const points = [];
    for (let i = 0; i <= count; i++) {
      const angle = (Math.PI * i) / count, cos = Math.cos(angle), sin = i < count ? Math.sin(angle) : 0;
      const third = Math.atan2(Math.hypot(sin, remainder * cos), -c * cos) / 3;
      const size = 1 / (scale * Math.cos(third));
      const s = 2 * Math.sqrt(x(-cos * size, sin * size) / top);
      points.push([s, (kappa * 2 * sin * size) / (Math.PI * s)]);
    }
    return { points, lower: points[0][0], atom: 1 - kappa };
  }

  // --- prediction.py: everything about one size, under the names of `loadstone predict --json` ---

  function predict(d, p, kappa) {
    const law = mergeLaw(p), p_c = capacityAssociations(d, kappa), alpha_c = capacity(kappa);
    const hebbian = hebbianRecall(p, d);
    return {
      d, p, kappa,
      parameters: parameters(d, kappa),
      alpha: load(p, d),
      alpha_c,
      alpha_c_finite: (2 * alpha_c * Math.log(p)) / law.mean,
      p_c,
      p_c_asymptotic: associations(alpha_c * d ** 2),
      p_hebbian: associations(HEBBIAN_CAPACITY * d ** 2),
      d_c: leastDimension(p, kappa),
      D: law.mean,
      var_k: law.variance,
      probability_storable: kappa === 1 ? probabilityStorable(p, d) : null,
      bits_per_parameter: bitsPerParameter(p, d, kappa),
      bits_per_parameter_at_capacity: bitsPerParameter(p_c, d, kappa),
      hebbian_accuracy: hebbian.stored,
      hebbian_probability_all_stored: Math.exp(p * Math.log1p(-hebbian.failed)),
    };
  }

  /** Whole numbers around p_c and their P(storable), which falls from 1 to 0 among them; p = 1 has no rival. */
  function transition(d, most = 60) {
    const p_c = capacityAssociations(d, 1), p = Math.max(2, Math.round(p_c));
    const width = Math.sqrt(p * mergeLaw(p).variance) / (needed(p + 1) - needed(p));
    const low = Math.max(1, Math.floor(p_c - 5 * width)), high = Math.ceil(p_c + 5 * width);
    const stride = Math.max(1, Math.ceil((high - low) / most));
    const points = [];
    for (let q = low; q < high + stride; q += stride) points.push([q, q > 1 ? probabilityStorable(q, d) : 1]);
    return points;
  }

  return {
    predict, mergeLaw, probabilityStorable, capacityAssociations, rank, hebbianScores, normal, transition,
    scoreLaws, spectrumAtCapacity, spectrumInitial, probabilityMet, logPhiAt,
  };
}
