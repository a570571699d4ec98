"use strict";
// Two settings side by side: one that was kept, and the one that the page shows.

/** A setting: d, kappa, p, answers, family and margin; null if none was kept. */
let kept = null;

const present = () => ({ ...state, ...asked });

/** Names of a setting in the address have this in front if it is the kept one. */
const KEPT = "kept-";

/** What the table says about a setting, in its order. */
function described(setting) {
  const { d, kappa, p, answers, family, margin } = setting;
  const found = theory.predict(d, p, kappa), more = answersNumbers(setting);
  const rows = {
    "embedding width d": grouped(d),
    "rank, share of d": grouped(kappa),
    "number of facts p": grouped(p),
    "capacity of this d": FORMATS.p_c(found.p_c),
    "p, share of the capacity": `${significant((100 * p) / found.p_c, 3)}${FIRM_SPACE}%`,
    "probability of being storable": FORMATS.probability_storable(found.probability_storable),
    "least d for this p": FORMATS.d_c(found.d_c),
    parameters: FORMATS.parameters(found.parameters),
    "bits per parameter at capacity": FORMATS.bits_per_parameter_at_capacity(found.bits_per_parameter_at_capacity),
    "Hebb’s rule recalls": FORMATS.hebbian_accuracy(found.hebbian_accuracy),
    "number of answers M": answers === null ? "as many as facts" : grouped(answers),
    "memories of full rank": family,
    margin: grouped(margin),
    "capacity, with these": more.facts_c,
    "probability, with these": more.facts_probability,
  };
  return Object.entries(rows);
}

function showComparison() {
  element("comparison").hidden = kept === null;
  if (kept === null) return;
  const [before, now] = [described(kept), described(present())];
  const rows = before.map(([name, text], i) => {
    const row = document.createElement("tr"), head = document.createElement("th");
    head.scope = "row";
    head.textContent = name;
    const cells = [text, now[i][1]].map((words) => Object.assign(document.createElement("td"), { textContent: words }));
    row.classList.toggle("differs", text !== now[i][1]);
    row.append(head, ...cells);
    return row;
  });
  element("compared").replaceChildren(...rows);
}

// --- The kept setting in the address ---

function keptInAddress() {
  const given = Object.entries(kept ?? {}).filter(([, value]) => value !== null);
  return Object.fromEntries(given.map(([name, value]) => [KEPT + name, value]));
}

/** The setting that an address holds; one that cannot be used is not kept. */
function readKept(given) {
  element("comparison-error").textContent = "";
  kept = null;
  if (![...given.keys()].some((name) => name.startsWith(KEPT))) return;
  const text = (name) => given.get(KEPT + name);
  try {
    const found = { ...present() };
    for (const name of NAMES) if (text(name) !== null) found[name] = parsed(name, text(name));
    for (const [name, { allowed, unsaid }] of Object.entries(ASKED)) {
      found[name] = text(name) === null ? unsaid : parsedNumber(name, text(name), allowed);
    }
    found.family = text("family") ?? "full";
    if (!families.names.includes(found.family)) throw new RangeError(`family is “${found.family}”, which is not in the list.`);
    kept = found;
  } catch (error) {
    element("comparison-error").textContent = `The address names a setting to compare with, but its ${error.message}`;
  }
}

function listenToComparison(changed) {
  element("keep").addEventListener("click", () => {
    kept = present();
    element("comparison-error").textContent = "";
    changed();
  });
  element("exchange").addEventListener("click", () => {
    const before = kept;
    kept = present();
    for (const name of NAMES) state[name] = before[name];
    setAsked(before);
    typing = null;
    changed();
  });
  element("forget").addEventListener("click", () => {
    kept = null;
    changed();
    element("keep").focus();
  });
}
