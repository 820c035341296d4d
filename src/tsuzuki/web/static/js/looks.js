// Theme, time zone, and times that stay true.
import { say } from "./say.js";
import { send } from "./send.js";
import { toast } from "./toasts.js";

const root = document.documentElement;
const MINUTE = 60000;
const PICTURES = ".tile > img, .cover-box > img";  // a letter stands behind each, for one that does not come

/** Choose a theme, at once and for the next time. @param {"light"|"dark"|"auto"} theme */
export async function setTheme(theme) {
  root.classList.remove("theme-light", "theme-dark", "theme-auto");
  root.classList.add(`theme-${theme}`);
  if (await send("/settings", { theme })) toast(say("js.theme_set"));
}

function ago(at) {
  const minutes = Math.floor((Date.now() - at) / MINUTE);
  if (minutes < 1) return say("time.now");
  if (minutes < 60) return say("time.minutes", { count: minutes });
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return say("time.hours", { count: hours });
  return hours < 168 ? say("time.days", { count: Math.floor(hours / 24) }) : null;
}

function tick() {
  for (const node of document.querySelectorAll("time[data-ago], .entry time")) {
    const at = Date.parse(node.dateTime);
    const words = at <= Date.now() ? ago(at) : null;
    if (words && node.textContent !== words) node.textContent = words;
  }
}

export function startLooks() {
  setInterval(tick, MINUTE);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (root.dataset.zone === "" && zone) send("/settings", { time_zone: zone }, { quiet: true });
  document.addEventListener("error", (event) => { if (event.target.matches?.(PICTURES)) event.target.remove(); }, true);
  for (const one of document.querySelectorAll(PICTURES)) if (one.complete && !one.naturalWidth && one.loading !== "lazy") one.remove();
  for (const form of document.querySelectorAll("form[data-at-once]")) form.addEventListener("change", () => choose(form));
}

/** A form of choices shows what they do before they are kept. */
function choose(form) {
  const chosen = new FormData(form);
  for (const [name, prefix] of [["theme", "theme"], ["density", "density"], ["text_size", "text"], ["reading_font", "reading"], ["reading_width", "width"]]) {
    if (!chosen.has(name)) continue;
    for (const old of [...root.classList]) if (old.startsWith(`${prefix}-`)) root.classList.remove(old);
    root.classList.add(`${prefix}-${chosen.get(name)}`);
  }
}
