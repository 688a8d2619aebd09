// The dialog "Keyboard shortcuts".
import { dialog, h } from "../dom.js";
import { t } from "../text.js";

export function openKeys(app) {
  dialog({
    title: t.keys.title,
    body: [
      !app.settings.get("keys") && h("p", { class: "warn" }, t.keys.off),
      h("table", { class: "keys" }, h("tbody", null, t.keys.list.map(([key, words]) => h("tr", null, h("th", { scope: "row" }, h("kbd", null, key)), h("td", null, words))))),
    ],
    buttons: [{ label: t.close, primary: true }],
  });
}
