// The dialog "Limits": rates and slots of the whole daemon.
import { t } from "../text.js";
import { h, dialog, field, message } from "../dom.js";
import { call } from "../api.js";
import { bytesText, complain, number, problemPlace, readAmounts, sentence, text } from "./fields.js";

const rates = ["downloadRateLimit", "uploadRateLimit"];
const slots = ["maximumConcurrentTasks", "maximumConcurrentTasksPerHost", "maximumConcurrentTasksPerUser"];

export async function openLimits(app) {
  const base = app.settings.get("units");
  let settings;
  try {
    settings = await call("settings.get");
  } catch (error) {
    return message(error.message);
  }
  const value = (name) => settings[name].value;
  const shown = (name) => (rates.includes(name) ? (value(name) > 0 ? bytesText(value(name), base) : "") : String(value(name)));
  const controls = Object.fromEntries([
    ...rates.map((name) => [name, text(shown(name), { placeholder: t.unlimited })]),
    ...slots.map((name) => [name, number(shown(name), { min: name === "maximumConcurrentTasksPerUser" ? "0" : "1" })]),
  ]);
  const problem = problemPlace();

  async function save() {
    const amounts = readAmounts(Object.fromEntries(rates.map((name) => [name, controls[name]])), base);
    if (!amounts) return false;
    const all = { ...amounts, ...Object.fromEntries(slots.map((name) => [name, controls[name].value === "" ? null : Number(controls[name].value)])) };
    // Only what was changed is set: the rest stays with the file that has it.
    const changed = Object.fromEntries(Object.entries(all).filter(([name]) => controls[name].value.trim() !== shown(name))
      .map(([name, each]) => [name, rates.includes(name) ? each ?? 0 : each]));
    if (Object.keys(changed).length === 0) return true;
    try {
      await call("settings.set", changed);
    } catch (error) {
      const control = controls[error.details?.field];
      if (control) complain(control, sentence(error));
      else problem.say(sentence(error));
      control?.focus();
      return false;
    }
    message(t.limits.saved);
  }

  const isFixed = (name) => ["flag", "environment"].includes(settings[name].origin);
  const hint = (name) => [rates.includes(name) && t.fields.rateHint, isFixed(name) && t.limits.origin].filter(Boolean).join(" ") || null;
  const { element, close } = dialog({
    title: t.limits.title, initial: controls.downloadRateLimit,
    body: h("div", null, [...rates, ...slots].map((name) => field(t.limits[name], controls[name], hint(name))), problem.element),
    buttons: [{ label: t.cancel }, { label: t.save, primary: true, action: save }],
  });
  element.addEventListener("keydown", async (event) => {
    if (event.key === "Enter" && event.target.matches("input") && (await save()) !== false) close();
  });
}
