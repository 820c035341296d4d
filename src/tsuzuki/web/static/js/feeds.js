// The feeds page: refreshing one or all of them, with how far it is.
import { renewAll } from "./library.js";
import { say } from "./say.js";
import { ask, send } from "./send.js";
import { toast } from "./toasts.js";

const EVERY = 1500;
const PATIENCE = 90000;

/** Ask until `look` is content, or patience is over. @returns {Promise<boolean>} whether it was */
async function until(look) {
  for (const end = Date.now() + PATIENCE; Date.now() < end;) {
    if (await look()) return true;
    await new Promise((go) => setTimeout(go, EVERY));
  }
  return false;
}

/** Show how far it is, as `count` says: how many are checked, of how many. */
async function watch(count) {
  const box = document.querySelector(".checking");
  const [bar, words] = [box.querySelector("progress"), box.querySelector("span")];
  box.hidden = false;
  const isOver = await until(async () => {
    const counted = await count();
    if (!counted) return false;
    [bar.value, bar.max] = counted;
    words.textContent = say("js.checking", { done: counted[0], all: counted[1] });
    renewAll();
    return counted[0] >= counted[1];
  });
  box.hidden = true;
  if (isOver) toast(say("js.checked"));
}

async function refreshAll(event) {
  event.preventDefault();
  const done = await send(event.target.getAttribute("action"), {});
  if (!done) return;
  if (done.text) return toast(done.text);
  await watch(async () => {
    const left = await ask("/api/v1/feeds/refresh");
    return left && [Math.max(0, done.queued - left.waiting - left.checking), done.queued];
  });
}

/** What an import brought is looked at for the first time. */
async function countNew() {
  const wanted = (await ask("/api/v1/feeds"))?.filter((feed) => !feed.suspended);
  return wanted && [wanted.filter((feed) => feed.fetch_state.last_checked_at).length, wanted.length];
}

async function refreshOne(event) {
  const form = event.target;
  if (!form.matches("form[data-refresh]")) return;
  event.preventDefault();
  const path = `/api/v1/feeds/${form.dataset.refresh}`;
  let feed = await ask(path);
  const before = feed?.fetch_state.last_checked_at;  // by the server's clock, as ours may differ
  const done = await send(form.getAttribute("action"), {});
  if (done?.text) toast(done.text);
  if (!done || done.text) return;
  renewAll();
  const isOver = await until(async () => {
    feed = (await ask(path)) ?? feed;
    return feed && feed.fetch_state.last_checked_at !== before;
  });
  renewAll();
  if (!isOver) return;
  const name = feed.name || feed.title || feed.link;
  toast(feed.fetch_state.consecutive_failures ? say("js.check_failed", { name }) : say("js.checked_one", { name }));
}

export function startFeeds() {
  document.querySelector("form[data-refresh-all]")?.addEventListener("submit", refreshAll);
  if (document.getElementById("feeds")) document.addEventListener("submit", refreshOne);
  if (document.querySelector(".checking:not([hidden])")) watch(countNew).then(() => history.replaceState(null, "", "/feeds"));
}
