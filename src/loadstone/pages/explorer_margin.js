"use strict";
// codimension.py for the browser: D_gamma(M), what a fact costs if its target must win by gamma |W|.

function makeMargin({ faddeeva: { scale, coefficients } }) {
  const ROOT_PI = Math.sqrt(Math.PI);
  // Trapezium rules: of tau around its typical value, and on the line through a saddle point, each in typical widths.
  const TAU = { reach: 14, step: 0.04 }, LINE = { reach: 10, step: 0.1 };

  /**
   * w(z) for Im z >= 0 by Weideman's rational function, 2 p(Z) / (L - i z)^2 + 1 / (sqrt(pi) (L - i z)) with
   * Z = (L + i z) / (L - i z); p has the coefficients of the table.
   */
  function faddeeva(x, y) {
    const re = scale + y, im = -x, size = re * re + im * im; // L - i z
    const invRe = re / size, invIm = -im / size;
    const [zRe, zIm] = times(scale - y, x, invRe, invIm);
    let pRe = 0, pIm = 0;
    for (const coefficient of coefficients) {
      const next = pRe * zRe - pIm * zIm + coefficient;
      pIm = pRe * zIm + pIm * zRe;
      pRe = next;
    }
    const [squareRe, squareIm] = times(invRe, invIm, invRe, invIm);
    const [partRe, partIm] = times(2 * pRe, 2 * pIm, squareRe, squareIm);
    return [partRe + invRe / ROOT_PI, partIm + invIm / ROOT_PI];
  }

  const times = (a, b, c, d) => [a * c - b * d, a * d + b * c];
  const logOf = (re, im) => [Math.log(Math.hypot(re, im)), Math.atan2(im, re)];

  /** log w(x + i y). In the lower half-plane w(z) = 2 exp(-z^2) - w(-z), whose first term may overflow. */
  function logFaddeeva(x, y) {
    if (y >= 0) return logOf(...faddeeva(x, y));
    const squareRe = x * x - y * y, squareIm = 2 * x * y, size = Math.exp(squareRe);
    const [re, im] = times(size * Math.cos(squareIm), size * Math.sin(squareIm), ...faddeeva(-x, -y));
    const [logRe, logIm] = logOf(2 - re, -im);
    return [logRe - squareRe, logIm - squareIm];
  }

  /** exp(s^2) erfc(s) = w(i s); it overflows below -26. */
  const erfcx = (s) => (s >= 0 ? faddeeva(0, s)[0] : 2 * Math.exp(s * s) - faddeeva(0, -s)[0]);
  /** The derivative of log erfcx. */
  const slope = (s) => 2 * s - (s > -26 ? 2 / (ROOT_PI * erfcx(s)) : 0);
  const logPhi = (x) => (x < 0
    ? Math.log(erfcx(-x / Math.SQRT2) / 2) - (x * x) / 2
    : Math.log1p((-erfcx(x / Math.SQRT2) / 2) * Math.exp((-x * x) / 2)));
  const phi = (x) => Math.exp(logPhi(x));

  /** log J_k(gamma), on a line through the saddle point of exp(-t^2 - i sqrt(2) gamma t) w(t)^k; even in x. */
  function logWeight(k, gamma) {
    const root = Math.SQRT2 * gamma;
    let low = -root / 2, high = Math.sqrt(k) + 1, s = 0;
    for (let i = 0; i < 60; i++) {
      s = (low + high) / 2;
      if (2 * s + root + k * slope(s) > 0) high = s;
      else low = s;
    }
    const unit = Math.sqrt(2 / (2 + k * (2 + (2 * s - slope(s)) * slope(s))));
    let top = 0, total = 0;
    for (let i = 0; i * LINE.step <= LINE.reach; i++) {
      const x = unit * i * LINE.step, [logRe, logIm] = logFaddeeva(x, s);
      const exponent = s * s - x * x + root * s + k * logRe, turn = -2 * x * s - root * x + k * logIm;
      if (i === 0) top = exponent;
      else if (exponent < top - 45) break;
      total += (i === 0 ? 1 : 2) * Math.exp(exponent - top) * Math.cos(turn);
    }
    return 0.5 * Math.log(k + 1) - k * Math.LN2 + top + Math.log((total * unit * LINE.step) / ROOT_PI);
  }

  /** tau and k if sums over rivals did not fluctuate. */
  function typical(answers, gamma) {
    const lack = (tau) =>
      (answers - 1) * (Math.exp((-tau * tau) / 2) / Math.sqrt(2 * Math.PI) - tau * phi(-tau)) - gamma - tau;
    let low = -gamma - 1, high = 40;
    for (let i = 0; i < 60; i++) {
      const middle = (low + high) / 2;
      if (lack(middle) > 0) low = middle;
      else high = middle;
    }
    return { centre: low, merged: (answers - 1) * phi(-low) };
  }

  /** D_gamma(M) = E k + gamma (gamma + E tau), summed over the part of the law of (k, tau) that counts. */
  function codimension(answers, gamma) {
    const { centre, merged } = typical(answers, gamma);
    const spread = 30 + 4.5 * Math.log(answers) + 14 * Math.sqrt(merged);
    const first = Math.max(0, Math.trunc(merged - spread)), end = Math.min(answers, Math.trunc(merged + spread) + 1);
    const unit = 1 / Math.sqrt(1 + merged / 10), points = [];
    for (let i = Math.round(-TAU.reach / TAU.step); i * TAU.step <= TAU.reach; i++) {
      const tau = centre + unit * i * TAU.step;
      points.push([tau, logPhi(tau)]);
    }
    let logChoose = 0, sum = 0;
    for (let k = 1; k <= first; k++) logChoose += Math.log((answers - k) / k);
    for (let k = first; k < end; k++) {
      if (k > first) logChoose += Math.log((answers - k) / k);
      const weight = logChoose + logWeight(k, gamma) + 0.5 * Math.log((k + 1) / (2 * Math.PI));
      for (const [tau, below] of points) {
        const term = weight - ((k + 1) * tau * tau) / 2 + (answers - 1 - k) * below - gamma * tau;
        if (term > -45) sum += Math.exp(term) * (k + gamma * (gamma + tau));
      }
    }
    return sum * TAU.step * unit;
  }

  const known = new Map();

  /** The same, remembered, because a search asks for the same M again. */
  return function marginCodimension(answers, gamma) {
    const key = `${answers} ${gamma}`;
    if (known.size > 5000) known.clear();
    if (!known.has(key)) known.set(key, codimension(answers, gamma));
    return known.get(key);
  };
}
