"use strict";
// Drawings as files: each SVG with the colours and letters that it has on the page, so that it needs no style sheet.

/** What a style sheet says about the parts of a drawing. */
const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "paint-order",
  "font-family", "font-size", "font-weight", "text-anchor"];

/** A drawing as the text of an SVG file. */
function picture(svg) {
  const copy = svg.cloneNode(true), { clientWidth: width, clientHeight: height } = svg;
  const parts = svg.querySelectorAll("*"), copies = copy.querySelectorAll("*");
  parts.forEach((part, i) => {
    const style = getComputedStyle(part);
    for (const name of DRAWN) copies[i].setAttribute(name, style.getPropertyValue(name));
    copies[i].removeAttribute("class");
  });
  const ground = document.createElementNS(svg.namespaceURI, "rect"), title = document.createElementNS(svg.namespaceURI, "title");
  const colour = getComputedStyle(document.documentElement).getPropertyValue("--card").trim();
  for (const [name, value] of Object.entries({ width, height, fill: colour })) ground.setAttribute(name, value);
  title.textContent = svg.getAttribute("aria-label");
  copy.prepend(title, ground);
  const frame = { xmlns: svg.namespaceURI, width, height, viewBox: `0 0 ${width} ${height}` };
  for (const [name, value] of Object.entries(frame)) copy.setAttribute(name, value);
  copy.removeAttribute("id");
  return new XMLSerializer().serializeToString(copy);
}

function save(svg) {
  const address = URL.createObjectURL(new Blob([picture(svg)], { type: "image/svg+xml" }));
  const name = `${svg.id}-d${state.d}-p${state.p}${state.kappa === 1 ? "" : `-kappa${state.kappa}`}.svg`;
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function listenToPictures() {
  for (const button of document.querySelectorAll("[data-picture]")) {
    button.addEventListener("click", () => save(element(button.dataset.picture)));
  }
}
