"use strict";
// The card about fewer answers, margins and other memories: its settings, and its numbers for the d and p of the page.

const families = makeFamilies(theory, makeMargin(tables));
const ANSWERS = { least: 2, most: tables.mostFacts, whole: true };
/** Margins beyond this, in units of a random score, are asked for by nobody, and would take long to sum. */
const MARGIN = { least: 0, most: 10, whole: false };
/** answers: null for as many as facts. */
const asked = { answers: null, family: "full", margin: 0 };
/** So many facts that are impossible alone, on average, are worth a sentence. */
const WORTH_SAYING = 0.05;

/** The settings that differ from their defaults, for the address. */
const askedInAddress = () => ({
  ...(asked.answers === null ? {} : { answers: asked.answers }),
  ...(asked.family === "full" ? {} : { family: asked.family }),
  ...(asked.margin === 0 ? {} : { margin: asked.margin }),
});

const ASKED = { answers: { allowed: ANSWERS, unsaid: null }, margin: { allowed: MARGIN, unsaid: 0 } };

function takeAsked(name, text) {
  const { allowed, unsaid } = ASKED[name], field = element(`${name}-field`);
  try {
    asked[name] = text.trim() === "" ? unsaid : parsedNumber(name, text, allowed);
    element(`${name}-error`).textContent = "";
  } catch (error) {
    element(`${name}-error`).textContent = error.message;
  }
  field.setAttribute("aria-invalid", String(element(`${name}-error`).textContent !== ""));
}

function readAsked(given) {
  for (const name of Object.keys(ASKED)) {
    if (!given.has(name)) continue;
    element(`${name}-field`).value = given.get(name);
    takeAsked(name, given.get(name));
  }
  if (families.names.includes(given.get("family"))) element("family").value = asked.family = given.get("family");
}

/** What to keep in mind, in words. */
function caveats({ impossible }) {
  const found = [];
  if (impossible > WORTH_SAYING) found.push(
    `${significant(impossible, 2)} of the ${grouped(state.p)} facts, on average, cannot be stored even alone: their output ` +
      "lies between the others, where it never wins. One such fact is enough, and they are not storable together.");
  if (asked.margin > 0) found.push("With a margin the law is a limit of large d; at d = 24 margins are some 20 % smaller.");
  if (asked.margin > 0 && impossible > WORTH_SAYING) found.push("Here the capacity is an upper bound.");
  return found.join(" ");
}

const foundFor = ({ d, p, answers, family, margin }) => families.predictFacts(d, p, answers, family, margin);

/** The numbers of a setting in words, by the names of their places on the page. */
function answersNumbers(setting) {
  const found = foundFor(setting), unknown = "not known";
  if (found === null) return { facts_c: unknown, delta: unknown, D: unknown, facts_probability: unknown };
  return {
    facts_c: found.facts_c === null ? "fewer than two" : fixed(Math.floor(found.facts_c * (1 + 1e-9)), 0),
    delta: grouped(Number(found.delta.toPrecision(6))),
    D: fixed(found.D, 4),
    facts_probability: found.probability_storable === null ? unknown : probabilityWords(found.probability_storable),
  };
}

function showAnswers({ d, p }) {
  const setting = { d, p, ...asked }, found = foundFor(setting);
  element("answers-note").textContent = found === null ? "" : caveats(found);
  for (const [name, words] of Object.entries(answersNumbers(setting))) element(name).textContent = words;
}

/** Take answers, family and margin from a setting. */
function setAsked({ answers, family, margin }) {
  Object.assign(asked, { answers, family, margin });
  element("answers-field").value = answers ?? "";
  element("margin-field").value = margin === 0 ? "" : margin;
  element("family").value = family;
  for (const name of Object.keys(ASKED)) takeAsked(name, element(`${name}-field`).value);
}

function listenToAnswers(changed) {
  element("family").replaceChildren(...families.names.map((name) => new Option(name, name)));
  element("family").addEventListener("change", () => {
    asked.family = element("family").value;
    changed();
  });
  for (const name of Object.keys(ASKED)) {
    element(`${name}-field`).addEventListener("input", () => {
      takeAsked(name, element(`${name}-field`).value);
      changed();
    });
  }
}
