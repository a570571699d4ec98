"use strict";
// What the page shows about one prediction: a verdict, numbers and drawings.

const tables = JSON.parse(document.getElementById("tables").textContent);
const theory = makeTheory(tables);
const element = (name) => document.getElementById(name);
const FULL_RANK = ["κ", "=", "1"].join(FIRM_SPACE);

function probabilityWords(x) {
  if (x === null) return `known for ${FULL_RANK} only`;
  if (x < 0.0001) return "< 0.0001";
  return x > 0.9999 ? "> 0.9999" : fixed(x, 4);
}

const FORMATS = {
  p_c: (x) => fixed(Math.floor(x + 1e-9), 0),
  p_c_asymptotic: (x) => fixed(x, 0),
  p_hebbian: (x) => fixed(x, 0),
  d_c: (x) => grouped(x),
  alpha: (x) => fixed(x, 4),
  alpha_c_finite: (x) => fixed(x, 4),
  alpha_c: (x) => fixed(x, 4),
  probability_storable: probabilityWords,
  parameters: (x) => grouped(x),
  bits_per_parameter: (x) => fixed(x, 4),
  bits_per_parameter_at_capacity: (x) => fixed(x, 4),
  hebbian_accuracy: (x) => `${significant(100 * x)}${FIRM_SPACE}%`,
  hebbian_probability_all_stored: (x) => significant(x),
};

/** Whether p facts fit: 'fits', 'edge' or 'many'. Where no probability is known, one percent around the capacity. */
function judged({ p, p_c, probability_storable: chance }) {
  if (chance !== null) return chance > 0.99 ? "fits" : chance < 0.01 ? "many" : "edge";
  if (Math.abs(p - p_c) < Math.max(1, 0.01 * p_c)) return "edge";
  return p < p_c ? "fits" : "many";
}

function verdictWords(found, verdict) {
  const { d, p, kappa, p_c, d_c, probability_storable: chance } = found;
  const rank = kappa === 1 ? "" : ` of rank ${grouped(theory.rank(d, kappa))}`;
  const matrix = `one ${grouped(d)} × ${grouped(d)} matrix${rank}`, times = p / p_c;
  const percent = times < 1e-4 ? "less than 0.01" : significant(100 * times, 3);
  const share = times < 9.99 ? `${percent}${FIRM_SPACE}% of that` : `${fixed(times, 0)} times that`;
  const whole = fixed(Math.floor(p_c + 1e-9), 0), room = `about ${whole} ${whole === "1" ? "fact" : "facts"}`;
  const compared = `${matrix} can hold ${room}, and ${grouped(p)} are ${share}.`;
  if (verdict === "fits") return ["Fits:", compared];
  if (verdict === "many") return ["Too many:", `${compared} They need a width of at least ${grouped(d_c)}.`];
  if (chance === null) return ["On the edge:", compared];
  return ["On the edge:", `${matrix} can hold ${room}; ${grouped(p)} fit with probability ${fixed(chance, 2)}.`];
}

function showVerdict(found) {
  const verdict = judged(found), [head, rest] = verdictWords(found, verdict);
  // Replaced only when it changes: a screen reader would read it out every time.
  if (element("verdict").textContent === `${head} ${rest}`) return;
  const strong = document.createElement("strong");
  strong.textContent = head;
  element("verdict").className = `card verdict ${verdict}`;
  element("verdict").replaceChildren(strong, ` ${rest}`);
}

// --- Drawings ---

function drawChance(found) {
  const { d, p, kappa, p_c, p_hebbian } = found, known = kappa === 1;
  element("chance-note").textContent = known
    ? "Up to the capacity they can, beyond it they cannot: the larger d, the sharper the edge."
    : `Below full rank the threshold is known; the probability around it is known for ${FULL_RANK} only.`;
  element("magnifier").hidden = document.querySelector("[data-picture='magnified']").hidden = !known;
  element("magnifier").parentNode.classList.toggle("two", known);
  const points = known ? theory.transition(d) : [[p_c, 0]];
  const end = Math.max(1.3 * p_c, Math.min(1.1 * p, 2.6 * p_c), points.at(-1)[0], 4);
  const plot = chart(element("chance"), {
    x: [0, end], y: [0, known ? 1.04 : 1], xName: "number of facts p", rows: 3,
    yName: known ? "probability that all can be stored" : "",
  });
  if (known) {
    const curve = [[0, 1], ...points, [end, 0]];
    plot.area(curve, "prediction");
    plot.curve(curve, "prediction");
    drawMagnified(found, points);
  } else {
    plot.area([[0, 1], [p_c, 1]], "fits");
    plot.area([[p_c, 1], [end, 1]], "many");
    plot.note("fits", 0.02 * end, 0.05, "", "start");
    plot.note("too many", 0.98 * end, 0.05, "", "end");
  }
  plot.mark(p_c, `capacity ${fixed(p_c, 0)}`, "prediction", 0);
  plot.mark(p_hebbian, `Hebb’s rule ${fixed(p_hebbian, 0)}`, "hebbian", 1);
  plot.mark(p, `p = ${grouped(p)}`, "here", 2);
  if (known && p <= end) plot.dot(p, found.probability_storable, "here");
  plot.show(
    `Capacity ${fixed(p_c, 0)} facts, Hebb’s rule ${fixed(p_hebbian, 0)}, p is ${grouped(p)}; ` +
      `probability that all can be stored: ${probabilityWords(found.probability_storable)}.`,
  );
}

/** The same curve where it falls, dot by dot where there are few whole numbers. */
function drawMagnified({ p, p_c, probability_storable }, points) {
  const low = points[0][0], high = points.at(-1)[0];
  const plot = chart(element("magnified"), {
    x: [low, high], y: [0, 1.04], xName: "number of facts p", yName: "magnified around the capacity", rows: 3,
  });
  plot.area(points, "prediction");
  plot.curve(points, "prediction");
  if (points.length < 40) points.forEach(([q, chance]) => plot.dot(q, chance, "prediction", 2.5));
  plot.mark(p_c, `capacity ${fixed(p_c, 0)}`, "prediction", 0);
  plot.mark(p, `p = ${grouped(p)}`, "here", 2);
  if (p >= low && p <= high) plot.dot(p, probability_storable, "here");
  plot.show(`The probability falls from 1 to 0 between ${grouped(low)} and ${grouped(high)} facts.`);
}

function drawSpectrum({ kappa }) {
  const law = theory.spectrumAtCapacity(kappa), start = theory.spectrumInitial(kappa);
  const atom = fixed(law.atom, 2), lower = fixed(law.lower, 2);
  element("start-key").hidden = kappa === 1;
  const words = kappa === 1
    ? "At capacity they fill the quarter circle, as those of a random matrix do."
    : `At capacity a share ${atom} of them is zero, the others lie above ${lower}.`;
  element("spectrum-note").textContent = `${words} Limit of large d, largest value 2.`;
  // The law before training may rise without bound at its lower edge: it is cut at twice the height of the other.
  const highest = Math.max(...law.points.map(([, density]) => density));
  const rising = kappa === 1 ? 0 : Math.max(...start.points.map(([, density]) => density));
  const plot = chart(element("spectrum"), {
    x: [0, 2.1], y: [0, 1.12 * Math.max(highest, Math.min(rising, 2 * highest))],
    xName: "singular value", yName: "density", rows: kappa === 1 ? 0 : 1,
  });
  const edged = [[law.lower, 0], ...law.points];
  plot.area(law.points, "prediction");
  plot.curve(kappa === 1 ? law.points : edged, "prediction");
  if (kappa < 1) {
    plot.curve(start.points, "start dashed");
    plot.mark(law.lower, `lower edge ${lower}`, "prediction", 0);
  }
  plot.show(`${words} Lower edge ${lower}, share at zero ${atom}.`);
}

function drawScores({ d, p, p_c }) {
  const full = Math.max(2, Math.round(p_c)), laws = theory.scoreLaws(full);
  const { mean, deviation } = theory.hebbianScores(p, d);
  element("scores-note").textContent =
    `At capacity, here ${grouped(full)} facts, a target scores as much as the best of its rivals: no room is left.`;
  const seen = mean < 9, end = seen ? Math.max(7, Math.ceil(mean + 3)) : 7;
  const of = (density) => [...laws.tau].map((t, i) => [t, density[i]]).filter(([t]) => t >= -4 && t <= end);
  const target = of(laws.target), rival = of(laws.rival);
  const highest = Math.max(0.42, ...target.map(([, density]) => density), ...rival.map(([, density]) => density));
  const plot = chart(element("scores"), {
    x: [-4, end], y: [0, 1.08 * highest], xName: "score", yName: "density", rows: 1,
  });
  for (const [points, kind] of [[rival, "rival"], [target, "target"]]) {
    plot.area(points, kind);
    plot.curve(points, kind);
  }
  const hebbianLaw = (t) => theory.normal((t - mean) / deviation) / deviation;
  if (seen) plot.curve(rival.map(([t]) => [t, hebbianLaw(t)]), "hebbian dashed");
  else plot.mark(mean, `Hebb’s targets around ${significant(mean, 3)}`, "hebbian", 0);
  const hebbian = `targets of Hebb’s rule around ${significant(mean, 3)}`;
  plot.show(`Laws of scores at capacity, ${grouped(full)} facts; ${hebbian}.`);
}

function showAll(found) {
  showVerdict(found);
  for (const [name, format] of Object.entries(FORMATS)) element(name).textContent = format(found[name]);
  showAnswers(found);
  showComparison();
  drawChance(found);
  drawSpectrum(found);
  drawScores(found);
}
