// The rates of the last five minutes: a canvas, and its numbers as text.
import { on, rates } from "../api.js";
import { h } from "../dom.js";
import { format, t } from "../text.js";

export function show(host, parameters, app) {
  const canvas = h("canvas", { role: "img", "aria-label": t.graph.name });
  const [down, up] = [h("span", null), h("span", null)];
  host.append(h("p", { class: "now" }, down, up), canvas);
  let samples = { down: [], up: [] };
  let last = { downloadRate: 0, uploadRate: 0 };
  let isActive = true;

  function say() {
    const words = [format.rate(last.downloadRate), format.rate(last.uploadRate)];
    down.textContent = `↓ ${words[0]}`;
    up.textContent = `↑ ${words[1]}`;
    canvas.setAttribute("aria-label", `${t.graph.name}: ${t.graph.text(...words)}`);
  }

  function draw() {
    if (document.hidden) return;
    const ratio = devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (canvas.width !== width * ratio) Object.assign(canvas, { width: width * ratio, height: height * ratio });
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const style = getComputedStyle(canvas);
    const most = Math.max(1, ...samples.down, ...samples.up);
    const line = (values, color, isFilled) => {
      context.beginPath();
      values.forEach((value, i) => context.lineTo((i / Math.max(1, values.length - 1)) * width, height - 1 - (value / most) * (height - 3)));
      context.strokeStyle = context.fillStyle = color;
      context.lineWidth = 1.5;
      context.stroke();
      if (!isFilled) return;
      context.lineTo(width, height);
      context.lineTo(0, height);
      context.globalAlpha = 0.2;
      context.fill();
      context.globalAlpha = 1;
    };
    line(samples.down, style.getPropertyValue("--accent"), true);
    line(samples.up, style.getPropertyValue("--good"), false);
  }

  async function read() {
    try {
      samples = await rates();
      draw();
    } catch { /* the banner says that the server does not answer */ }
  }

  // One sample a second; those of a quiet time are zero, and the server has them all.
  const timer = setInterval(() => {
    if (!isActive && Math.max(...samples.down, ...samples.up) === 0) return;
    samples.down = [...samples.down, isActive ? last.downloadRate : 0].slice(-300);
    samples.up = [...samples.up, isActive ? last.uploadRate : 0].slice(-300);
    draw();
  }, 1_000);
  const onVisible = () => document.hidden || read();
  document.addEventListener("visibilitychange", onVisible);
  const off = on("stats", (stats) => {
    last = stats;
    isActive = stats.activeTransfers > 0 || stats.downloadRate + stats.uploadRate > 0;
    say();
  });
  const offConnection = on("connection", (state) => state === "live" && read());
  app.settings.on(() => (say(), draw()));
  say();
  read();
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", onVisible);
    off();
    offConnection();
    host.replaceChildren();
  };
}
