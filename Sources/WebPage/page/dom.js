// Elements, foreign text, dialogs, menus and messages. Nothing here parses markup, so nothing foreign can become an element.
import { t } from "./text.js";

/// Makes an element. `class`, `on` and `dataset` are themselves; every other property is an attribute.
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") element.className = value;
    else if (name === "on") for (const [type, handler] of Object.entries(value)) element.addEventListener(type, handler);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const unseen = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g;

/// Control and bidirectional characters as `\u{202E}`: a name cannot pass for another.
export function visible(text) {
  return String(text ?? "").replace(unseen, (c) => `\\u{${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}}`);
}

/// Text that somebody else chose.
export function foreign(text) {
  return h("bdi", null, visible(text));
}

/// A name that is cut in its middle where it does not fit, because the end tells what it is.
export function cut(text) {
  const points = Array.from(visible(text));
  if (points.length < 24) return h("bdi", { class: "cut" }, h("span", null, points.join("")));
  return h("bdi", { class: "cut" }, h("span", null, points.slice(0, -10).join("")), h("span", null, points.slice(-10).join("")));
}

/// A link only for schemes that cannot run anything here.
export function link(url) {
  return /^(https?|ftp):\/\//i.test(url)
    ? h("a", { href: url, rel: "noreferrer", target: "_blank" }, foreign(url)) : foreign(url);
}

/// A moment, with its ISO form for readers and tooltips.
export function time(date, text) {
  const iso = new Date(date).toISOString();
  return h("time", { datetime: iso, title: iso }, text);
}

let number = 0;
export const newID = (prefix = "id") => `${prefix}-${++number}`;

/// A control with its label, and a hint that is read with it.
export function field(label, control, hint) {
  const id = (control.id ||= newID("field"));
  const hintElement = hint && h("p", { class: "hint", id: `${id}-hint` }, hint);
  if (hintElement) control.setAttribute("aria-describedby", hintElement.id);
  const isBox = control.type === "checkbox" || control.type === "radio";
  const labelElement = h("label", { for: id }, label);
  return h("div", { class: isBox ? "field box" : "field" }, isBox ? [control, labelElement] : [labelElement, control], hintElement);
}

/// A button. `label` is its text.
export function button(label, action, properties) {
  return h("button", { type: "button", on: { click: action }, ...properties }, label);
}

/// Gives focus to an element, else to the row that has it in the list.
export function giveFocus(element) {
  const target = element?.isConnected && element !== document.body && !element.closest("[hidden]")
    ? element : document.querySelector('[role="grid"] [role="row"][tabindex="0"]') ?? document.querySelector("main");
  target?.focus({ preventScroll: true });
}

/// Opens a modal dialog. `buttons` are elements, or `{label, action, primary, danger, disabled}`; an action that returns
/// false (or a promise of false) keeps it open. `initial` is the element, or the label of the button, that gets focus.
/// Returns `{element, close}`.
export function dialog({ title, role, body, buttons = [], initial, onClose, wide }) {
  const before = document.activeElement;
  const heading = h("h2", { id: newID("title") }, title);
  const content = h("div", { class: "dialog-body", id: newID("body") }, body);
  const element = h("dialog", {
    class: wide ? "wide" : null, role: role === "dialog" ? null : role, "aria-labelledby": heading.id,
    "aria-describedby": role === "alertdialog" ? content.id : null,
  });
  const close = () => element.open && element.close();
  const act = async (entry) => (await entry.action?.()) !== false && close();
  const made = buttons.map((entry) => entry instanceof Node ? entry : button(entry.label, () => act(entry), {
    class: entry.primary ? "primary" : entry.danger ? "danger" : null, disabled: entry.disabled,
  }));
  element.append(heading, content, h("div", { class: "dialog-buttons" }, made));
  element.addEventListener("close", () => {
    element.remove();
    giveFocus(before);
    onClose?.();
  });
  element.addEventListener("keydown", (event) => event.stopPropagation());
  document.querySelector("main").append(element);
  element.showModal();
  const focused = typeof initial === "string" ? made.find((each) => each.textContent === initial) : initial;
  (focused ?? element.querySelector(".dialog-body :is(input, select, textarea, button):not([disabled])") ?? made[0])?.focus();
  return { element, close };
}

/// Opens a menu below an element, or at `{x, y}`. Entries: `{label, action, disabled, key, checked, submenu}` or null for a rule.
/// Returns a function that closes it.
export function menu(anchor, entries, { label, onClose, parent } = {}) {
  const before = parent ? null : document.activeElement;
  let child = null;
  const items = entries.map((entry) => entry && h("button", {
    type: "button", role: entry.checked === undefined ? "menuitem" : "menuitemradio", tabindex: "-1",
    "aria-checked": entry.checked === undefined ? null : String(entry.checked), disabled: entry.disabled,
    "aria-disabled": entry.disabled ? "true" : null, "aria-haspopup": entry.submenu ? "menu" : null,
    "aria-expanded": entry.submenu ? "false" : null,
    on: { click: (event) => (entry.submenu ? open(event.currentTarget, entry) : (closeAll(), entry.action?.())) },
  }, h("span", null, entry.label), entry.submenu ? h("span", { class: "key", "aria-hidden": "true" }, "▸")
    : entry.key && h("kbd", { class: "key", "aria-hidden": "true" }, entry.key)));
  const element = h("div", { role: "menu", class: "menu", "aria-label": label ?? t.menu.title },
    items.map((item) => item ?? h("div", { role: "separator" })));
  const enabled = () => items.filter((item) => item && !item.disabled);

  function open(item, entry) {
    child?.();
    item.setAttribute("aria-expanded", "true");
    child = menu(item, entry.submenu, { label: entry.label, parent: { closeAll }, onClose: () => {
      item.setAttribute("aria-expanded", "false");
      child = null;
      if (element.isConnected) item.focus();
    } });
  }
  function close() {
    if (!element.isConnected) return;
    child?.();
    element.remove();
    document.removeEventListener("pointerdown", outside, true);
    onClose?.();
    if (!parent) giveFocus(before);
  }
  function closeAll() {
    close();
    parent?.closeAll();
  }
  function outside(event) {
    if (!event.target.closest?.(".menu")) close();
  }
  element.addEventListener("contextmenu", (event) => event.preventDefault());
  element.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const list = enabled();
    const at = list.indexOf(document.activeElement);
    const moves = { ArrowDown: at + 1, ArrowUp: at < 0 ? -1 : at - 1, Home: 0, End: -1 };
    if (event.key in moves) list.at(moves[event.key] % list.length)?.focus();
    else if (event.key === "ArrowRight" && list[at]?.hasAttribute("aria-haspopup")) list[at].click();
    else if (event.key === "Escape" || event.key === "Tab" || (event.key === "ArrowLeft" && parent)) close();
    else if (event.key.length === 1 && event.key !== " ") {
      const rest = [...list.slice(at + 1), ...list.slice(0, at + 1)];
      rest.find((item) => item.textContent.toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
      return;
    } else return;
    event.preventDefault();
  });
  (document.querySelector("dialog[open]") ?? document.querySelector("main")).append(element);
  place(element, anchor, Boolean(parent));
  document.addEventListener("pointerdown", outside, true);
  (enabled()[0] ?? element).focus();
  return close;
}

/// Keeps a menu inside the window.
function place(element, anchor, beside) {
  const box = anchor.getBoundingClientRect?.() ?? { left: anchor.x, right: anchor.x, top: anchor.y, bottom: anchor.y };
  const { offsetWidth: width, offsetHeight: height } = element;
  const left = beside ? (box.right + width < innerWidth ? box.right : box.left - width) : box.left;
  const top = beside ? box.top : box.bottom + height < innerHeight ? box.bottom : box.top - height;
  element.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
  element.style.top = `${Math.max(4, Math.min(top, innerHeight - height - 4))}px`;
}

const undos = [];

/// Says something in "Messages". With `undo`, a button beside it takes it back while it is shown; `done` runs once it no
/// longer can; with `stays`, newer messages do not replace it. Returns a function that ends it at once.
export function message(text, { undo, done, stays = Boolean(undo), seconds = undo ? 7 : 5 } = {}) {
  const line = h("p", { class: stays ? "stays" : null }, text);
  const place = document.getElementById("messages");
  for (const old of place.querySelectorAll("p:not(.stays)")) old.remove(); // the newest is enough
  place.append(line);
  let isOver = false;
  const entry = { undo: () => end(false) };
  const timer = setTimeout(() => end(true), seconds * 1000);
  function end(isKept) {
    clearTimeout(timer);
    if (isOver) return;
    isOver = true;
    line.remove();
    if (undos.includes(entry)) undos.splice(undos.indexOf(entry), 1);
    showUndo();
    if (!undo) return;
    if (isKept) done?.();
    else undo();
  }
  if (undo) undos.push(entry);
  showUndo();
  return () => end(true);
}

function showUndo() {
  const control = document.getElementById("undo");
  const hadFocus = document.activeElement === control;
  control.hidden = undos.length === 0;
  if (hadFocus && control.hidden) giveFocus();
}

/// Takes back the newest message that can be taken back. Returns whether there was one.
export function undoLast() {
  const entry = undos.at(-1);
  entry?.undo();
  return Boolean(entry);
}

/// Says at once that something went wrong; stays until it is closed, or for 20 s.
export function alertMessage(text) {
  const element = h("div", { role: "alert", class: "alert" }, h("p", null, visible(text)),
    button(t.close, () => element.remove(), { class: "quiet" }));
  document.getElementById("alerts").replaceChildren(element);
  setTimeout(() => element.remove(), 20_000);
  return element;
}
