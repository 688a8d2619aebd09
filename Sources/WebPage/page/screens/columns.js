// The dialog "Columns": which ones a filter shows, and in which order.
import { button, dialog, field, h } from "../dom.js";
import { t } from "../text.js";
import { columnKeys } from "../transfers.js";

export function openColumns({ app, route }) {
  const { settings } = app;
  const views = settings.get("views");
  const chosen = views[route.filter]?.columns ?? columnKeys;
  let keys = [...chosen, ...columnKeys.filter((key) => !chosen.includes(key))];
  let off = new Set(columnKeys.filter((key) => !chosen.includes(key)));
  const body = h("ul", { class: "column-list" });
  const save = () => settings.set("views", { ...settings.get("views"), [route.filter]: { ...settings.get("views")[route.filter], columns: keys.filter((key) => !off.has(key)) } });
  const move = (key, step) => {
    const from = keys.indexOf(key);
    keys.splice(from, 1);
    keys.splice(from + step, 0, key);
    save();
    draw();
    body.querySelectorAll(`[data-key="${key}"] button:not(:disabled)`)[step < 0 ? 0 : 1]?.focus();
  };
  const draw = () => body.replaceChildren(...keys.map((key, i) => {
    const box = h("input", { type: "checkbox", checked: !off.has(key), disabled: key === "name", on: { change: () => {
      if (box.checked) off.delete(key);
      else off.add(key);
      save();
    } } });
    const label = t.columns[key];
    return h("li", { dataset: { key } }, field(label, box),
      button("↑", () => move(key, -1), { "aria-label": t.columnsDialog.up(label), disabled: i === 0 }),
      button("↓", () => move(key, 1), { "aria-label": t.columnsDialog.down(label), disabled: i === keys.length - 1 }));
  }));
  draw();
  dialog({ title: t.columnsDialog.title, body: [body, h("p", { class: "hint" }, t.columnsDialog.hint)], buttons: [{ label: t.columnsDialog.done, primary: true }] });
}
