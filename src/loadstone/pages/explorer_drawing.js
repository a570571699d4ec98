"use strict";
// Charts as plain SVG, redrawn whenever their width changes, so that letters have the same size on every screen.

/** Round numbers in [low, high], about `count` of them. */
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return found.map((value) => ({ value, label: grouped(value.toFixed(decimals)) }));
}

/**
 * A chart with axes. `rows` lines of text above the plot take the names of marks, each in a separate row: names never
 * meet. What is drawn is kept as text until `show`, which also says in words what there is to see.
 */
function chart(svg, { x, y, xName, yName, rows = 0 }) {
  const width = Math.max(200, svg.clientWidth), height = Math.max(160, svg.clientHeight);
  const rowHeight = 17, left = 40, right = 14, top = 20 + rows * rowHeight, bottom = 42;
  const X = (value) => left + ((value - x[0]) / (x[1] - x[0])) * (width - left - right);
  const Y = (value) => height - bottom - ((value - y[0]) / (y[1] - y[0])) * (height - bottom - top);
  const under = [], lines = [], over = [];
  const letters = (text) => 7.2 * text.length;
  const number = (value) => value.toFixed(1);

  const line = (list, kind, [x1, y1], [x2, y2]) =>
    list.push(`<path class="${kind}" d="M${number(x1)} ${number(y1)}L${number(x2)} ${number(y2)}"/>`);
  const text = (list, words, tx, ty, kind = "", anchor = "middle") =>
    list.push(`<text x="${number(tx)}" y="${number(ty)}" class="${kind}" text-anchor="${anchor}">${words}</text>`);
  /** Words centred at `tx`, or as near to it as lets all of them stay inside the drawing. */
  const centred = (list, words, tx, ty, kind) => {
    const half = letters(words) / 2;
    if (tx - half < 2) text(list, words, 2, ty, kind, "start");
    else if (tx + half > width - 2) text(list, words, width - 2, ty, kind, "end");
    else text(list, words, tx, ty, kind);
  };

  // Without a name there is nothing to read off the vertical axis.
  for (const { value, label } of yName ? ticks(y[0], y[1], 4) : []) {
    line(under, "rule", [left, Y(value)], [width - right, Y(value)]);
    text(under, label, left - 6, Y(value) + 4, "", "end");
  }
  const longest = Math.max(...x.map((end) => letters(grouped(end.toFixed(0)))));
  for (const { value, label } of ticks(x[0], x[1], (width - left - right) / (longest + 34))) {
    line(under, "axis", [X(value), height - bottom], [X(value), height - bottom + 4]);
    centred(under, label, X(value), height - bottom + 17);
  }
  under.push(`<path class="axis" d="M${left} ${top}V${height - bottom}H${width - right}"/>`);
  text(under, yName, 2, 12, "", "start");
  text(under, xName, (left + width - right) / 2, height - 6);

  const path = (points) => points.map(([px, py]) => `${number(X(px))} ${number(Y(Math.min(py, y[1])))}`).join("L");
  return {
    curve(points, kind) {
      lines.push(`<path class="curve ${kind}" d="M${path(points)}"/>`);
    },
    area(points, kind) {
      const ends = [points[0][0], points.at(-1)[0]].map((end) => number(X(end))), floor = number(Y(y[0]));
      lines.push(`<path class="area ${kind}" d="M${ends[0]} ${floor}L${path(points)}L${ends[1]} ${floor}Z"/>`);
    },
    dot(px, py, kind, radius = 5) {
      over.push(`<circle class="${kind}" cx="${number(X(px))}" cy="${number(Y(py))}" r="${radius}"/>`);
    },
    /** A vertical line with a name in one of the rows; an arrow where it lies beyond an end of the axis. */
    mark(value, words, kind, row) {
      const base = 30 + row * rowHeight;
      const label = value > x[1] ? `${words} →` : value < x[0] ? `← ${words}` : words;
      if (label === words) line(lines, `mark ${kind}`, [X(value), base + 4], [X(value), height - bottom]);
      centred(over, label, X(value), base, `named ${kind}`);
    },
    note(words, px, py, kind = "", anchor = "middle") {
      text(over, words, X(px), Y(py), `named ${kind}`, anchor);
    },
    show(description) {
      svg.setAttribute("aria-label", description);
      svg.innerHTML = [...under, ...lines, ...over].join("");
    },
  };
}
