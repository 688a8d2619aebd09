// The dialog "Settings": what this browser remembers about the page.
import { signOut } from "../api.js";
import { button, dialog, field, h, newID } from "../dom.js";
import { t } from "../text.js";

export function openSettings(app, onClose) {
  const { settings } = app;
  const select = (name, words, convert = String) => h("select", { on: { change: (event) => settings.set(name, convert(event.target.value)) } },
    Object.entries(words).map(([value, label]) => h("option", { value, selected: String(settings.get(name)) === value }, label)));
  const problem = h("p", { role: "alert", class: "bad" });
  const tick = (kind) => {
    const box = h("input", { type: "checkbox", checked: settings.get("notify")[kind] });
    box.addEventListener("change", async () => {
      // Asked only here, because the user has just asked for it.
      const isAllowed = !box.checked || ("Notification" in window && (await Notification.requestPermission()) === "granted");
      problem.textContent = isAllowed ? "" : t.settings.denied;
      box.checked &&= isAllowed;
      settings.set("notify", { ...settings.get("notify"), [kind]: box.checked });
    });
    return field(t.settings.notify[kind], box);
  };
  const keys = h("input", { type: "checkbox", checked: settings.get("keys"), on: { change: (event) => settings.set("keys", event.target.checked) } });
  const legend = newID("legend");
  dialog({
    title: t.settings.title,
    body: [
      field(t.settings.theme, select("theme", t.settings.themes)), field(t.settings.density, select("density", t.settings.densities)),
      field(t.settings.units, select("units", t.settings.unitWords, Number)), field(t.settings.time, select("time", t.settings.times)),
      field(t.settings.keys, keys),
      h("div", { role: "group", "aria-labelledby": legend }, h("h3", { id: legend }, t.settings.notifications), ["done", "failed", "asks"].map(tick), problem),
    ],
    buttons: [button(t.settings.signOut, () => signOut().then(() => location.reload()), { class: "quiet", title: t.settings.signOutHint }), { label: t.settings.done, primary: true }],
    onClose,
  });
}
