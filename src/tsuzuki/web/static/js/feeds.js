// The feeds page: refreshing with progress.
import { say } from "./say.js";
import { ask, send } from "./send.js";
import { toast } from "./toasts.js";

const EVERY = 1500;
const PATIENCE = 90000;

async function follow(bar, words, since) {
  const until = Date.now() + PATIENCE;
  while (Date.now() < until) {
    const feeds = await ask("/api/v1/feeds");
    if (!feeds) return;
    const wanted = feeds.filter((feed) => !feed.suspended);
    const done = wanted.filter((feed) => !feed.fetch_state.refresh_asked_at && Date.parse(feed.fetch_state.last_checked_at ?? 0) >= since);
    bar.max = wanted.length;
    bar.value = done.length;
    words.textContent = say("js.checking", { done: done.length, all: wanted.length });
    if (done.length === wanted.length) return toast(say("js.checked"));
    await new Promise((go) => setTimeout(go, EVERY));
  }
}

async function refreshAll(event) {
  event.preventDefault();
  const form = event.target;
  const since = Date.now() - 2000;
  if (!(await send(form.getAttribute("action"), {}))) return;
  await watch(since);
  location.reload();
}

async function watch(since) {
  const box = document.querySelector(".checking");
  box.hidden = false;
  await follow(box.querySelector("progress"), box.querySelector("span"), since);
}

export function startFeeds() {
  document.querySelector("form[data-refresh-all]")?.addEventListener("submit", refreshAll);
  // After an import: what is new is being looked at for the first time.
  if (document.querySelector(".checking:not([hidden])")) watch(0).then(() => location.assign("/feeds"));
}
