"use strict";

// Tables are sorted by a click on the head of a column; a second click turns the order round.
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    button.type = "button";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0], rows = [...body.rows];
      rows.sort((a, b) => (up ? 1 : -1) * compared(a.cells[column].innerText.trim(), b.cells[column].innerText.trim()));
      body.replaceChildren(...rows);
    });
  });
}

// Numbers by their value, and before words; words as a dictionary has them, with the numbers in them by value.
function compared(a, b) {
  const x = a === "" ? NaN : Number(a), y = b === "" ? NaN : Number(b);
  if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  return a.localeCompare(b, "en", { numeric: true });
}

// One box for each verdict that occurs; rows whose verdict is not ticked are hidden in all tables.
function filtered(form, tables) {
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
  const verdicts = [...new Set(rows.map((row) => row.dataset.verdict))];
  const show = () => {
    const ticked = new Set(new FormData(form).getAll("verdict"));
    rows.forEach((row) => { row.hidden = !ticked.has(row.dataset.verdict); });
  };
  form.append("Show rows that are: ");
  verdicts.forEach((verdict) => {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "verdict", value: verdict });
    const label = document.createElement("label");
    box.checked = true;
    label.append(box, ` ${verdict}`);
    form.append(label);
  });
  form.addEventListener("change", show);
  form.hidden = verdicts.length === 0;
  form.reset();  // a browser may keep the boxes of an earlier visit
  form.querySelectorAll("input").forEach((box) => { box.checked = true; });
}

// A figure fills the window until it is clicked again, or Escape is pressed.
function enlargeable(button, dialog) {
  button.addEventListener("click", () => {
    dialog.replaceChildren(button.querySelector("img").cloneNode());
    dialog.showModal();
  });
}

document.querySelectorAll("table").forEach(sortable);
filtered(document.getElementById("filter"), [...document.querySelectorAll("table.filtered")]);
const large = document.getElementById("large");
document.querySelectorAll("button.enlarge").forEach((button) => enlargeable(button, large));
large.addEventListener("click", () => large.close());
