"use strict";
// The card about fewer answers and other memories: its two settings, and its numbers for the d and p of the page.

const families = makeFamilies(theory);
const ANSWERS = { least: 2, most: tables.mostFacts, whole: true };
/** answers: null for as many as facts. */
const asked = { answers: null, family: "full" };

/** The settings that differ from their defaults, for the address. */
const askedInAddress = () => ({
  ...(asked.answers === null ? {} : { answers: asked.answers }),
  ...(asked.family === "full" ? {} : { family: asked.family }),
});

function takeAnswers(text) {
  const field = element("answers-field");
  try {
    asked.answers = text.trim() === "" ? null : parsedNumber("answers", text, ANSWERS);
    element("answers-error").textContent = "";
  } catch (error) {
    element("answers-error").textContent = error.message;
  }
  field.setAttribute("aria-invalid", String(element("answers-error").textContent !== ""));
}

function readAsked(given) {
  if (given.has("answers")) {
    element("answers-field").value = given.get("answers");
    takeAnswers(given.get("answers"));
  }
  if (families.names.includes(given.get("family"))) element("family").value = asked.family = given.get("family");
}

function showAnswers({ d, p }) {
  const found = families.predictFacts(d, p, asked.answers, asked.family);
  const numbers = found === null ? {} : {
    facts_c: fixed(Math.floor(found.facts_c * (1 + 1e-9)), 0),
    delta: grouped(Number(found.delta.toPrecision(6))),
    D: fixed(found.D, 4),
    facts_probability: found.probability_storable === null ? "not known" : probabilityWords(found.probability_storable),
  };
  for (const name of ["facts_c", "delta", "D", "facts_probability"]) element(name).textContent = numbers[name] ?? "not known";
}

function listenToAnswers(changed) {
  element("family").replaceChildren(...families.names.map((name) => new Option(name, name)));
  element("family").addEventListener("change", () => {
    asked.family = element("family").value;
    changed();
  });
  element("answers-field").addEventListener("input", () => {
    takeAnswers(element("answers-field").value);
    changed();
  });
}
