// Controls that several screens share: amounts with units, choices, and errors of the daemon beside the control at fault.
import { t } from "../text.js";
import { h, newID, visible } from "../dom.js";

const powers = { "": 0, k: 1, m: 2, g: 3, t: 4 };

/// Bytes of a text such as `2 MB`, `500k` or `1.5 MiB/s`; null if it is empty, NaN if it is no amount. A unit without `i`
/// has the base that Settings chose.
export function parseBytes(text, base) {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  const [, digits, prefix = "", binary] = /^(\d+(?:[.,]\d+)?)\s*([kmgt]?)(i?)b?(?:\/s)?$/i.exec(trimmed) ?? [];
  if (!digits) return NaN;
  return Math.round(Number(digits.replace(",", ".")) * (binary ? 1024 : base) ** powers[prefix.toLowerCase()]);
}

/// The shortest text that `parseBytes` reads back as exactly this number.
export function bytesText(bytes, base) {
  if (bytes === null || bytes === undefined) return "";
  const units = ["B", base === 1024 ? "KiB" : "kB", ...["M", "G", "T"].map((unit) => unit + (base === 1024 ? "iB" : "B"))];
  for (let power = units.length - 1; power > 0; power--) {
    const value = bytes / base ** power;
    if (value >= 1 && Number.isInteger(value * 10)) return `${value} ${units[power]}`;
  }
  return `${bytes} B`;
}

/// A select of `[value, label]` pairs.
export function select(choices, value = "") {
  const control = h("select", null, choices.map(([each, label]) => h("option", { value: each }, label)));
  control.value = value;
  return control;
}

export const text = (value, properties) => Object.assign(
  h("input", { type: "text", autocomplete: "off", spellcheck: "false", autocapitalize: "off", ...properties }), { value: value ?? "" });

export const number = (value, properties) => text(value, { type: "number", min: "0", step: "1", inputmode: "numeric", ...properties });

export function checkbox(isChecked) {
  return Object.assign(h("input", { type: "checkbox" }), { checked: Boolean(isChecked) });
}

/// Says beside a control what is wrong with it; an empty problem takes that back.
export function complain(control, problem) {
  const id = `${(control.id ||= newID("field"))}-problem`;
  document.getElementById(id)?.remove();
  control.removeAttribute("aria-invalid");
  control.removeAttribute("aria-errormessage");
  if (!problem) return;
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-errormessage", id);
  control.closest(".field").append(h("p", { role: "alert", class: "problem", id }, visible(problem)));
}

/// A place for what is wrong with a form as a whole.
export function problemPlace() {
  const element = h("div");
  return { element, say: (problem) => element.replaceChildren(...(problem ? [h("p", { role: "alert", class: "problem" }, visible(problem))] : [])) };
}

/// The daemon's sentence without the path of the field, which names nothing that a person sees.
export function sentence(error) {
  const path = error.details?.field;
  const said = path && error.message.startsWith(`${path}: `) ? error.message.slice(path.length + 2) : error.message;
  return said.charAt(0).toUpperCase() + said.slice(1);
}

/// Reads amounts out of text controls. Complains about those that are none, and then returns null.
export function readAmounts(controls, base) {
  const values = {};
  for (const [name, control] of Object.entries(controls)) {
    values[name] = parseBytes(control.value, base);
    complain(control, Number.isNaN(values[name]) ? t.fields.noAmount : "");
  }
  const bad = Object.keys(controls).find((name) => Number.isNaN(values[name]));
  if (bad) controls[bad].focus();
  return bad ? null : values;
}

