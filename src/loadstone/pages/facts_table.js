"use strict";
// The table of facts. Of tens of thousands of rows only those in view exist, so any number opens at once.

const ROW_HEIGHT = 30, ROWS_BEYOND_VIEW = 10, LONGEST_HINT = 300;
const everyFact = report.subjects.map((_, row) => row);
const searched = everyFact.map((row) =>
  [report.subjects[row], report.answers[report.targets[row]], report.answers[report.rivals[row]]].join("\n").normalize().toLowerCase());
const sorting = { column: null, falling: false };
let listed = everyFact;

/** For each name its place in alphabetical order, so that sorting compares numbers. */
function places(names) {
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const order = names.map((_, index) => index).sort((a, b) => compare(names[a], names[b]));
  const found = new Array(names.length);
  order.forEach((index, place) => (found[index] = place));
  return found;
}

const keys = {};
function keyOf(column) {
  if (column === "margin") return (row) => report.margins[row];
  if (column === "stored") return (row) => (isMissing.has(row) ? 0 : 1);
  const kind = column === "subject" ? "subjects" : "answers";
  keys[kind] ??= places(report[kind]);
  const at = { subject: (row) => row, answer: (row) => report.targets[row], rival: (row) => report.rivals[row] }[column];
  return (row) => keys[kind][at(row)];
}

/** Search and sort, then show from the top. Facts that are equal in a column stay in the order of the book. */
function list() {
  const words = element("search").value.trim().normalize().toLowerCase(), missing = element("only-missing").checked;
  listed = everyFact.filter((row) => (!missing || isMissing.has(row)) && searched[row].includes(words));
  if (sorting.column) {
    const key = keyOf(sorting.column), sign = sorting.falling ? -1 : 1;
    listed.sort((a, b) => sign * (key(a) - key(b)) || a - b);
  }
  const count = grouped(everyFact.length);
  element("found").textContent = listed.length === everyFact.length ? `${count} facts` : `${grouped(listed.length)} of ${count}`;
  element("rows").scrollTop = 0;
  show();
}

function cell(text, kind = "") {
  const made = document.createElement("td");
  made.textContent = text;
  made.className = kind;
  if (text.length > 20) made.title = text.slice(0, LONGEST_HINT);
  return made;
}

function line(row) {
  const made = document.createElement("tr"), answer = report.answers[report.targets[row]];
  made.className = isMissing.has(row) ? "failed" : "";
  made.append(cell(report.subjects[row]), cell(answer), cell(signed(report.margins[row]), "number"),
    cell(report.answers[report.rivals[row]]), cell(isMissing.has(row) ? "no" : "yes"));
  return made;
}

function space(rows) {
  const made = document.createElement("tr"), inside = document.createElement("td");
  made.className = "space";
  made.ariaHidden = "true";
  inside.colSpan = 5;
  inside.style.height = `${rows * ROW_HEIGHT}px`;
  made.append(inside);
  return made;
}

/** The rows in view, between two empty ones as high as those that are not. */
function show() {
  const box = element("rows");
  const first = Math.max(0, Math.floor(box.scrollTop / ROW_HEIGHT) - ROWS_BEYOND_VIEW);
  const last = Math.min(listed.length, first + Math.ceil(box.clientHeight / ROW_HEIGHT) + 2 * ROWS_BEYOND_VIEW);
  const above = first > 0 ? [space(first)] : [], below = last < listed.length ? [space(listed.length - last)] : [];
  element("body").replaceChildren(...above, ...listed.slice(first, last).map(line), ...below);
}

for (const head of document.querySelectorAll("th[data-column]")) {
  head.firstElementChild.addEventListener("click", () => {
    sorting.falling = sorting.column === head.dataset.column && !sorting.falling;
    sorting.column = head.dataset.column;
    for (const other of document.querySelectorAll("th[data-column]")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", sorting.falling ? "descending" : "ascending");
    list();
  });
}
element("search").addEventListener("input", list);
element("only-missing").addEventListener("change", list);
element("rows").addEventListener("scroll", () => requestAnimationFrame(show));
addEventListener("resize", () => requestAnimationFrame(show));
list();
