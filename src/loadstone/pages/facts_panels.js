"use strict";
// How full the book is, its margins, its singular values and its conflicts. Names are set as text, never as markup.

const element = (name) => document.getElementById(name);
const report = JSON.parse(element("data").textContent);
const { law, shuffled, stored, facts } = report.budget;
const isMissing = new Set(report.missing);
const MOST_CONFLICTS = 200, LONGEST_NAME = 300;

const signed = (x) => significant(Math.abs(x), 4).replace(/^/, x < 0 ? MINUS : "");
const whole = (x) => grouped(Math.round(x));
const counted = (count, one, many) => `${grouped(count)} ${count === 1 ? one : many}`;
const shortened = (text) => (text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}…` : text);

function summary() {
  const size = `${counted(facts, "fact", "facts")} with ${counted(report.answers.length, "answer", "answers")} in a ` +
    `${report.d} × ${report.d} memory (${report.family})`;
  const proof = report.proved ? "This is proved." : "This is not proved: time was up.";
  const without = report.without_vector.length;
  const words = without ? ` ${counted(without, "name has", "names have")} no vector, and their facts are left out.` : "";
  return `${size}: ${grouped(stored)} stored, ${grouped(facts - stored)} not. ${proof}${words}`;
}

// --- How full ---

function gaugeWords() {
  const found = [];
  if (law.capacity === null) found.push("For this book no law is known.");
  else {
    const share = `${significant(100 * law.load, 3)}${FIRM_SPACE}%`;
    found.push(`By the law N D(M) = δ, ${law.is_bound ? "at most " : ""}${whole(law.capacity)} random facts with these ` +
      `answers fit, so the memory is ${law.is_bound ? "at least " : ""}${share} full.`);
  }
  if (shuffled === null) found.push("The shuffled control was left out.");
  else if (shuffled.most === null) {
    const open = shuffled.decided ? "" : "; no more was decided in the time that was allowed";
    found.push(`With their answers shuffled at least ${whole(shuffled.fits)} of ${whole(shuffled.facts)} fit${open}.`);
  } else {
    const fits = whole(shuffled.fits), most = whole(shuffled.most);
    const times = [shuffled.structure_least, shuffled.structure_most].map((x) => (x === null ? "?" : significant(x, 3)));
    found.push(`With their answers shuffled, ${fits === most ? fits : `${fits} to ${most}`} of ${whole(shuffled.facts)} ` +
      `fit: structure is worth a factor of ${times[0] === times[1] ? times[0] : times.join(" to ")}` +
      `${shuffled.more_may_fit ? " or more" : ", of which the choice of what stays out is a part"}.`);
  }
  if (facts > stored) found.push("Red: facts that are not stored.");
  return found.join(" ");
}

function drawGauge() {
  const ends = [stored, facts, law.capacity ?? 0, shuffled?.most ?? shuffled?.fits ?? 0];
  const end = 1.08 * Math.max(...ends, 1);
  const plot = chart(element("gauge"), { x: [0, end], y: [0, 1], xName: "facts", yName: "", rows: 3 });
  const bar = (from, to, height, kind) => plot.area([[from, height], [to, height]], kind);
  bar(0, stored, 1, "stored");
  if (facts > stored) bar(stored, facts, 1, "failed");
  if (shuffled) bar(shuffled.fits, Math.max(shuffled.most ?? shuffled.fits, shuffled.fits + end / 400), 1, "control");
  plot.mark(stored, `${grouped(stored)} stored`, "here", 0);
  if (law.capacity !== null) {
    plot.mark(law.capacity, `${law.is_bound ? "at most " : ""}${whole(law.capacity)} by the law`, "prediction", 1);
  }
  if (shuffled) {
    const fits = shuffled.most === null ? `at least ${whole(shuffled.fits)}` : whole(shuffled.fits);
    plot.mark(shuffled.fits, `${fits} shuffled`, "control", 2);
  }
  plot.show(gaugeWords());
}

// --- Margins and singular values ---

/** How many values lie in each of so many equal parts of [low, high]. */
function histogram(values, low, high, parts) {
  const counts = new Array(parts).fill(0), width = (high - low) / parts;
  for (const value of values) {
    if (value >= low && value <= high) counts[Math.min(parts - 1, Math.floor((value - low) / width))]++;
  }
  return counts.map((count, index) => ({ from: low + index * width, to: low + (index + 1) * width, count }));
}

/** The bars of the histogram: `before` of them below zero, which tells what is stored from what is not, and `after`. */
function marginBars() {
  const sorted = Float64Array.from(report.margins).sort(), smallest = sorted[0], largest = sorted.at(-1);
  const common = sorted[Math.floor(0.995 * (sorted.length - 1))];
  // A few very large margins, or facts that lose by far, would squeeze all others into one bar.
  const end = common > 0 && largest > 3 * common ? common : largest;
  const high = Math.max(0, end), low = Math.min(0, high > 0 ? Math.max(smallest, -high) : smallest);
  const width = (high - low) / 40 || 1;
  const before = Math.ceil(-low / width - 1e-9), after = Math.max(1, Math.ceil(high / width - 1e-9));
  const median = sorted[Math.floor(sorted.length / 2)];
  return { smallest, largest, median, before, count: before + after, low: -before * width, high: after * width };
}

function marginWords() {
  const { smallest, largest, median, low, high } = marginBars();
  const beyond = (count, which, until, limit) =>
    count ? ` ${counted(count, `${which} one is`, `${which} ones are`)} not drawn, ${until} ${signed(limit)}.` : "";
  return `The smallest is ${signed(smallest)}, the median ${signed(median)}.` +
    beyond(report.margins.filter((margin) => margin < low).length, "smaller", "down to", smallest) +
    beyond(report.margins.filter((margin) => margin > high).length, "larger", "up to", largest);
}

function drawMargins() {
  const { low, high, before, count } = marginBars(), bars = histogram(report.margins, low, high, count);
  const most = Math.max(...bars.map((bar) => bar.count), 1);
  const plot = chart(element("margins"), { x: [low, high], y: [0, 1.05 * most], xName: "margin, a difference of scores", yName: "facts" });
  bars.forEach((bar, index) => {
    if (bar.count) plot.area([[bar.from, bar.count], [bar.to, bar.count]], index < before ? "failed" : "stored");
  });
  plot.show(marginWords());
}

/** Why the law of singular values says nothing about this book; nothing if it does. */
function noLaw() {
  if (report.family !== "full") return `No law of singular values is known for the family ${report.family}.`;
  const { input_dimensions: inputs, output_dimensions: outputs } = law;
  if (inputs === report.d && outputs === report.d) return "";
  return `The law is left out: it is about d × d memories, and these vectors show a ${outputs} × ${inputs} part of W.`;
}

function spectrumWords() {
  const load = law.load === null ? "" : `, and this one has a load of ${significant(law.load, 3)}`;
  const compared = noLaw() || "Red: the quarter circle, which random facts at capacity follow in the limit of large d. A " +
    `memory below capacity, or one whose facts have structure, need not follow it${load}.`;
  return `In coordinates in which subjects and answers are white, with a mean square of 1. ${compared}`;
}

function drawSpectrum() {
  const values = report.singular_values, curve = noLaw() ? [] : report.quarterCircle;
  const high = Math.max(2, values[0]) * 1.02, parts = Math.max(6, Math.min(40, Math.round(values.length / 4)));
  const bars = histogram(values, 0, high, parts), scale = values.length * (high / parts);
  const most = Math.max(...bars.map(({ count }) => count / scale), ...curve.map(([, density]) => density));
  const plot = chart(element("spectrum"), { x: [0, high], y: [0, 1.05 * most], xName: "singular value", yName: "density" });
  for (const { from, to, count } of bars) if (count) plot.area([[from, count / scale], [to, count / scale]], "plain");
  if (curve.length) plot.curve(curve, "prediction");
  plot.show(spectrumWords());
}

// --- Conflicts ---

function item(text) {
  const made = document.createElement("li");
  made.textContent = text;
  return made;
}

/** Facts in a line. Each name is isolated, because some are written from right to left. */
function conflict(names) {
  const made = document.createElement("li");
  names.forEach((name, index) => {
    const one = document.createElement("bdi");
    one.textContent = shortened(name);
    made.append(...(index ? [";  "] : []), one);
  });
  return made;
}

function showConflicts() {
  const count = report.conflicts.length, more = count - MOST_CONFLICTS;
  element("conflicts").replaceChildren(...report.conflicts.slice(0, MOST_CONFLICTS).map(conflict));
  element("conflicts-note").textContent = count === 0
    ? (facts > stored ? "No small set of facts was found that explains what is not stored." : "Everything is stored.")
    : `No W stores all facts of a line together.${more > 0 ? ` ${counted(more, "more is", "more are")} not shown.` : ""}`;
}

function draw() {
  drawGauge();
  drawMargins();
  drawSpectrum();
}

element("summary").textContent = summary();
// All words come before the drawings, which take the room that words leave.
element("gauge-note").textContent = gaugeWords();
element("margins-note").textContent = marginWords();
element("spectrum-note").textContent = spectrumWords();
element("caveats").replaceChildren(...law.caveats.map(item));
showConflicts();
draw();
addEventListener("resize", () => requestAnimationFrame(draw));
