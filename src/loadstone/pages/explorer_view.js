"use strict";
// The three numbers d, kappa and p, which can be set by sliders, fields, buttons and the address of the page.

const ALLOWED = {
  d: { least: 1, most: tables.mostDimension, whole: true },
  kappa: { least: 1e-6, most: 1, whole: false },
  p: { least: 2, most: tables.mostFacts, whole: true },
};
const NAMES = Object.keys(ALLOWED);
const state = { d: 768, kappa: 1, p: 30000 };
/** Name of the field that is being written in: what stands there must stay. */
let typing = null;

// --- Numbers from words, and a sentence where that fails ---

/** The number that `text` stands for, or an error that says what is allowed. */
const parsed = (name, text) => parsedNumber(name, text, ALLOWED[name]);

function parsedNumber(name, text, { least, most, whole }) {
  const digits = text.replace(/\s/g, "");
  const value = /^\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(digits) ? Number(digits) : NaN;
  if (value >= least && value <= most && (!whole || Number.isInteger(value))) return value;
  const shown = digits === "" ? "empty" : `“${text.length > 30 ? `${text.slice(0, 30)}…` : text}”`;
  const allowed = `${whole ? "a whole number" : "a number"} from ${grouped(least)} to ${grouped(most)}`;
  throw new RangeError(`${name} is ${shown}, but must be ${allowed}.`);
}

function complain(name, sentence) {
  element(`${name}-error`).textContent = sentence;
  element(`${name}-field`).setAttribute("aria-invalid", String(sentence !== ""));
}

/** Take a number from text; one that cannot be used leaves everything as it was, but for the sentence. */
function take(name, text) {
  try {
    state[name] = parsed(name, text);
    complain(name, "");
    return true;
  } catch (error) {
    complain(name, error.message);
    return false;
  }
}

// --- Sliders: every step of a slider is one that can be seen ---

/** Widths on the slider: every whole number up to 128, then 64 in each octave. */
const widthAt = (place) => (place < 64 ? place : (64 + (place % 64)) * 2 ** (Math.floor(place / 64) - 1));

function placeOfWidth(d) {
  if (d < 64) return d;
  const octave = Math.floor(Math.log2(d / 64));
  return 64 * octave + Math.round(d / 2 ** octave);
}

const SLIDERS = {
  d: { read: (value) => widthAt(Number(value)), place: () => placeOfWidth(state.d) },
  kappa: { read: Number, place: () => state.kappa },
  p: { read: (value) => Math.max(2, Number(value)), place: () => state.p },
};

function setUpSliders() {
  Object.assign(element("d-slider"), { min: 1, max: placeOfWidth(ALLOWED.d.most), step: 1 });
  Object.assign(element("kappa-slider"), { min: 0.01, max: 1, step: 0.01 });
  element("p-slider").min = 0;
}

/** The slider of p reaches twice the capacity, in round steps. */
function scaleFactsSlider(p_c) {
  const rough = p_c / 100, power = 10 ** Math.max(0, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const twice = Math.min(ALLOWED.p.most, Math.ceil((2 * p_c) / step) * step);
  Object.assign(element("p-slider"), { step, max: Math.max(4, twice) });
}

/** Fields, sliders and buttons in step with the state. */
function showControls() {
  for (const name of NAMES) {
    element(`${name}-slider`).value = SLIDERS[name].place();
    element(`${name}-slider`).setAttribute("aria-valuetext", grouped(state[name]));
    if (name === typing) continue;
    element(`${name}-field`).value = grouped(state[name]);
    complain(name, "");
  }
  for (const button of document.querySelectorAll("[data-width]")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.width) === state.d));
  }
}

// --- Everything together ---

const prediction = () => theory.predict(state.d, state.p, state.kappa);

function render() {
  const found = prediction();
  scaleFactsSlider(found.p_c);
  showControls();
  showAll(found);
  tellHeight();
}

/** A page that shows this one in a frame is told how high it is. */
function tellHeight() {
  if (parent !== window) parent.postMessage({ height: document.body.offsetHeight }, "*");
}

let waiting = null, writing = null;

/** Everything that is set, e.g. #d=768&kappa=1&p=50000. */
const addressWords = () => `#${new URLSearchParams({ ...state, ...askedInAddress(), ...keptInAddress() })}`;

/** Redraw before the next frame, once for many movements; the address follows when they rest. */
function changed() {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(render);
  clearTimeout(writing);
  writing = setTimeout(() => history.replaceState(null, "", addressWords()), 300);
}

function setTo(name, value) {
  typing = null;
  state[name] = value;
  changed();
}

/** Take everything that the address holds. */
function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1)), sentences = {};
  typing = null;
  for (const name of NAMES) {
    if (given.has(name) && !take(name, given.get(name))) sentences[name] = element(`${name}-error`).textContent;
  }
  readAsked(given);
  readKept(given);
  render();
  for (const [name, sentence] of Object.entries(sentences)) complain(name, sentence);
}

function listen() {
  for (const name of NAMES) {
    const field = element(`${name}-field`), slider = element(`${name}-slider`);
    slider.addEventListener("input", () => setTo(name, SLIDERS[name].read(slider.value)));
    field.addEventListener("input", () => {
      typing = name;
      if (take(name, field.value)) changed();
    });
    field.addEventListener("change", () => take(name, field.value) && setTo(name, state[name]));
  }
  for (const button of document.querySelectorAll("[data-width]")) {
    button.addEventListener("click", () => setTo("d", Number(button.dataset.width)));
  }
  element("fill").addEventListener("click", () => {
    setTo("p", Math.max(2, Math.floor(theory.capacityAssociations(state.d, state.kappa) + 1e-9)));
  });
  listenToAnswers(changed);
  listenToComparison(changed);
  listenToPictures();
  addEventListener("hashchange", readAddress);
  // A telephone resizes the page when its keyboard appears: what is being typed must stay.
  addEventListener("resize", () => requestAnimationFrame(() => {
    showAll(prediction());
    tellHeight();
  }));
}

setUpSliders();
listen();
readAddress();
