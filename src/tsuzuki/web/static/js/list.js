// The list of entries: a cursor, marks without leaving, news that come in, and the place that is kept.
import { bind } from "./keyboard.js";
import { on } from "./live.js";
import { saidOf, waiting as marksWait } from "./marks.js";
import { say, sayMany } from "./say.js";
import { ask, send, takeBack } from "./send.js";
import { toast } from "./toasts.js";

const list = () => document.getElementById("list");
const rows = () => [...list().querySelectorAll(".entry")];
const idOf = (row) => row.id.slice(1);
const FILES = [...document.querySelectorAll("script[src*='/js/app.'], link[href*='/inbox.']")];
const KEEP = `rows:${FILES.map((file) => (file.src ?? file.href).split(".").at(-2))}:`;  // rows are restored into pages of the same version
const MARK = "button[name$=read]";
const SAVE = "button[name$=save]";
const NAMES = { read: "js.do_read", unread: "js.do_unread", save: "js.do_save", unsave: "js.do_unsave" };
let current = null;
let waiting = 0;

// -- the cursor

function select(row) {
  current?.classList.remove("current");
  current = row;
  if (!row) return;
  row.classList.add("current");
  const link = row.querySelector("h3 a");
  link.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

function step(by) {
  const all = rows();
  if (!all.length) return false;
  const at = current?.isConnected ? all.indexOf(current) : -1;
  const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by;
  if (next >= all.length) document.querySelector(".older")?.scrollIntoView();
  select(all[Math.min(Math.max(next, 0), all.length - 1)]);
}

const here = () => (current?.isConnected ? current : document.activeElement?.closest?.(".entry"));

// -- times

/** Who points at a time gets its moment, as pages write it elsewhere. */
function sayMoment({ target }) {
  if (!target.matches("time:not([title])")) return;
  const { writing, clock: hourCycle } = list().dataset;
  const timeZone = document.documentElement.dataset.zone || undefined;
  const written = (form) => new Date(target.dateTime).toLocaleString(writing, { timeZone, ...form });
  target.title = `${written({ dateStyle: "long" })}, ${written({ timeStyle: "short", hourCycle })}`;
}

// -- marking

/** Make a row look as it is. */
export function paint(row, { unread, saved }) {
  if (unread !== undefined) {
    row.classList.toggle("unread", unread);
    rename(row, MARK, unread ? "read" : "unread");
  }
  if (saved !== undefined) {
    row.classList.toggle("saved", saved);
    rename(row, SAVE, saved ? "unsave" : "save");
  }
}

function rename(row, which, name) {
  const button = row.querySelector(which);
  button.name = name;
  button.textContent = say(NAMES[name]);
  nameTool(row, button);
}

/** What a button does is its text, which is shown to who points at it; for who hears it among others, with what it does it to. */
function nameTool(row, tool) {
  tool.title = tool.textContent;
  if (tool.href) tool.target = "_blank";  // which means noopener, and our Referrer-Policy tells other sites nothing
  tool.setAttribute("aria-label", `${tool.title}: ${row.querySelector("h3 a").textContent}`);
}

function nameTools(row) {
  for (const tool of row.querySelectorAll(":scope > p > *")) nameTool(row, tool);
}

function nameAll() {
  rows().forEach(nameTools);
  new MutationObserver((changes) => {
    for (const node of changes.flatMap((change) => [...change.addedNodes])) if (node.matches?.(".entry")) nameTools(node);
  }).observe(list(), { childList: true });
}

async function mark(row, unread) {
  paint(row, { unread });
  const done = await send("/inbox/mark", { [unread ? "unread" : "read"]: idOf(row) });
  if (!done) paint(row, { unread: !unread });
  offerMarkAll();
}

async function keep(row, saved, note = "") {
  const what = row.querySelector(SAVE).value;
  paint(row, { saved });
  const done = await send("/inbox/mark", saved ? { save: what, note } : { unsave: what });
  if (!done) return paint(row, { saved: !saved });
  toast(say(saved ? "js.saved" : "js.unsaved"), () => keep(row, !saved, done.note));
}

function onClick(event) {
  if (event.target.matches("time")) event.target.closest(".entry").querySelector("h3 a").dispatchEvent(new MouseEvent("click", event));
  const button = event.target.closest(".entry > p button");
  if (!button) return;
  event.preventDefault();
  const row = button.closest(".entry");
  if (button.matches(MARK)) mark(row, button.name === "unread");
  else keep(row, button.name === "save");
}

/** "Mark all" is there while there is something to mark, here or further down, and is about everything that is shown by now. */
function offerMarkAll() {
  const form = document.querySelector("[data-mark-all]");
  if (!form) return;
  if (rows().some((row) => row.matches(".unread"))) form.hidden = false;
  else if (!list().querySelector(".older")) form.hidden = true;
  form.elements.newest.value = Math.max(Number(form.elements.newest.value), ...rows().map((row) => Number(idOf(row))));
}

async function markAll(event) {
  event.preventDefault();
  const form = event.target;
  const path = form.getAttribute("action");
  const before = rows().filter((row) => row.matches(".unread"));
  const done = await send(path, new FormData(form));
  if (!done) return;
  for (const row of before) paint(row, { unread: false });
  form.hidden = true;
  toast(saidOf(false, done.kept), (done.undo || done.kept) && (async () => {
    if (!(await takeBack(path, done))) return;
    for (const row of before) paint(row, { unread: true });
    form.hidden = false;
    toast(say("js.undone"));
    if (!marksWait()) refresh();
  }));
}

// -- marking what was scrolled past

function watchScroll() {
  const passed = new Set();
  let timer = 0;
  const flush = () => {
    const ids = [...passed];
    passed.clear();
    if (ids.length) send("/inbox/mark", ids.map((id) => ["read", id]), { keepalive: true, quiet: true });
  };
  const watcher = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting, boundingClientRect } of seen) {
      if (isIntersecting || boundingClientRect.bottom > 0 || !target.classList.contains("unread")) continue;
      paint(target, { unread: false });
      passed.add(idOf(target));
    }
    offerMarkAll();
    clearTimeout(timer);
    timer = setTimeout(flush, 800);
  });
  const follow = () => rows().forEach((row) => watcher.observe(row));
  follow();
  new MutationObserver(follow).observe(list(), { childList: true });
  addEventListener("pagehide", flush);
}

// -- news

/** Put in what the server's list has and this one lacks; what is shown stays where it is. */
export async function refresh() {
  const response = await fetch(list().dataset.path, { headers: { accept: "text/html" } }).catch(() => null);
  if (!response?.ok || response.redirected) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").body;
  if (fresh.children.length) document.querySelector(".empty")?.remove();
  let after = null;
  for (const node of [...fresh.children]) {
    const known = node.id && document.getElementById(node.id);
    if (known && node.matches(".entry")) paint(known, { unread: node.matches(".unread"), saved: node.matches(".saved") });
    if (known) after = known;
    else if (node.id || !list().querySelector(`.${node.classList[0]}`)) {
      const put = document.importNode(node, true);
      if (after) after.after(put);
      else list().prepend(put);
      globalThis.htmx?.process(put);
      after = put;
    }
  }
  offerMarkAll();
  await settle();
  waiting = 0;
  document.querySelector(".news").hidden = true;
}

/** What was marked or saved elsewhere looks so here. */
async function settle() {
  const shown = rows().slice(0, 1000);
  if (!shown.length || marksWait()) return;  // the server does not know yet what was marked here
  const states = await ask(`/inbox/states?ids=${shown.map(idOf).join(",")}`);
  for (const state of states ?? []) {
    const row = document.getElementById(`e${state.id}`);
    if (row && (row.matches(".unread") !== state.unread || row.matches(".saved") !== state.saved)) paint(row, state);
  }
  offerMarkAll();
}

function onEntry(event) {
  if (!event.count) return;
  if (scrollY < 200 && !current) return refresh();
  waiting += event.count;
  const news = document.querySelector(".news");
  news.querySelector("span").textContent = sayMany("js.new", waiting);
  news.hidden = false;
}

// -- the place

function keepPlace() {
  addEventListener("pagehide", () => {
    const kept = { html: list().innerHTML, top: scrollY, current: current?.id };
    try { sessionStorage.setItem(KEEP + location.href, JSON.stringify(kept)); } catch { /* too much to keep: the list begins anew */ }
  });
  document.querySelector("[data-leaving]")?.addEventListener("submit", () => sessionStorage.clear());
  for (const key of Object.keys(sessionStorage)) if (key.startsWith("rows:") && !key.startsWith(KEEP)) sessionStorage.removeItem(key);
  if (performance.getEntriesByType("navigation")[0]?.type !== "back_forward") return;
  const kept = JSON.parse(sessionStorage.getItem(KEEP + location.href) ?? "null");
  if (!kept?.html.trim()) return;
  document.querySelector(".empty")?.remove();
  list().innerHTML = kept.html;
  globalThis.htmx?.process(list());
  scrollTo({ top: kept.top, behavior: "instant" });
  if (kept.current) select(document.getElementById(kept.current));
  offerMarkAll();
  settle();
}

export function startList() {
  if (!list()) return;
  history.scrollRestoration = "manual";
  nameAll();
  keepPlace();
  list().addEventListener("click", onClick);
  list().addEventListener("pointerover", sayMoment);
  document.querySelector("[data-mark-all]")?.addEventListener("submit", markAll);
  document.querySelector(".news")?.addEventListener("click", (event) => { event.preventDefault(); scrollTo({ top: 0 }); refresh(); });
  bind("j", say("js.next"), () => step(1));
  bind("k", say("js.previous"), () => step(-1));
  bind("o", say("js.open"), () => here()?.querySelector("h3 a")?.click());
  bind("m", say("js.mark"), () => here()?.querySelector(MARK)?.click());
  bind("s", say("js.keep"), () => here()?.querySelector(SAVE)?.click());
  bind("v", say("js.original"), () => here()?.querySelector(":scope > p a")?.click());
  list().addEventListener("focusin", (event) => {
    const row = event.target.closest(".entry");
    if (row && row !== current) { current?.classList.remove("current"); current = row; row.classList.add("current"); }
  });
  if ("marksOnScroll" in list().dataset) watchScroll();
  on("entry", onEntry);
  addEventListener("marks-sent", settle);
  addEventListener("pageshow", ({ persisted }) => { if (persisted) settle(); });  // as it was left, out of the browser's memory
  let isFirst = true;
  on("counts", ({ missed }) => {
    if (missed) refresh();
    else if (!isFirst) settle();  // the first are what the page was made with
    isFirst = false;
  });
}
