"use strict";
// Numbers and words for people.

const THIN_SPACE = "\u202f";
const FIRM_SPACE = "\u00a0";
const MINUS = "\u2212";

/** Digits in groups of three, from five digits on: 4096, 41 728. */
function grouped(digits) {
  const [whole, ...rest] = String(digits).split(".");
  const groups = /\d{5}/.test(whole) ? whole.replace(/\B(?=(\d{3})+$)/g, THIN_SPACE) : whole;
  return [groups, ...rest].join(".").replace("-", MINUS);
}

/** Like Python's '.4f': a tie goes to the even digit. */
function fixed(x, digits) {
  const text = x.toFixed(digits), exact = x.toFixed(Math.min(100, digits + 60));
  const tie = /^50*$/.test(exact.slice(exact.indexOf(".") + 1 + digits));
  if (!tie || Number(text.at(-1)) % 2 === 0) return grouped(text);
  return grouped((x - 0.5 * 10 ** -digits).toFixed(digits));
}

/** Like Python's '.4g', but with powers of ten written out. */
function significant(x, digits = 4) {
  if (x === 0) return "0";
  const [mantissa, power] = x.toExponential(digits - 1).split("e").map(Number);
  if (power >= -4 && power < digits) return grouped(String(Number(x.toPrecision(digits))));
  const raised = String(power).replace(/./g, (sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign]));
  return `${mantissa} × 10${raised}`;
}
