// The library and the pages of series: parts that are kept true, marks without leaving, chapters that are being kept.
import { on } from "./live.js";
import { saidOf } from "./marks.js";
import { relabel, say } from "./say.js";
import { ask, send, takeBack } from "./send.js";
import { toast } from "./toasts.js";

const SOON = 400;
const EVERY = 1500;
let timer = 0;
let watching = 0;

const parts = () => [...document.querySelectorAll("[data-live-part]")];

/** How to find again, among new nodes, what has the focus. */
function focused(node) {
  const { activeElement } = document;
  if (!node.contains(activeElement)) return null;
  const { name, value } = activeElement;
  if (name) return `[name="${CSS.escape(name)}"][value="${CSS.escape(value)}"]`;
  const label = activeElement.getAttribute("aria-label");
  return label && `[aria-label="${CSS.escape(label)}"]`;
}

async function renew(node) {
  const response = await fetch(node.dataset.livePart, { headers: { accept: "text/html" } }).catch(() => null);
  if (!response?.ok || response.redirected || node.querySelector("details.more[open]")) return;
  const focus = focused(node);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  node.replaceChildren(...page.body.childNodes);
  if (focus) node.querySelector(focus)?.focus({ preventScroll: true });
  watch();
}

/** Ask for every part anew, soon. */
export function renewAll() {
  clearTimeout(timer);
  timer = setTimeout(() => { for (const node of parts()) renew(node); }, SOON);
}

/** The chapters that a button marks; the list has the newest first. */
function meant(button) {
  const all = [...document.querySelectorAll(".chapter")];
  const row = button.closest(".chapter");
  return button.name === "all" ? all : button.name === "up_to" ? all.slice(all.indexOf(row)) : [row];
}

/** Make a chapter look as it will be: the server cannot say it yet. */
function paint(row, isRead) {
  const { sayRead, sayUnread } = row.closest("[data-live-part]").dataset;
  row.classList.toggle("is-read", isRead);
  const button = row.querySelector(".chapter-tools > .tool");
  if (isRead) relabel(button, "unread", "circle-dot", sayUnread);
  else relabel(button, "read", "check", sayRead);
}

function paintKept(button) {
  const isRead = ![button.name, button.value].includes("unread");
  const changed = meant(button).filter((row) => row.matches(".is-read") !== isRead);
  for (const row of changed) paint(row, isRead);
  return () => { for (const row of changed) paint(row, !isRead); };
}

async function onSubmit(event) {
  const form = event.target;
  const button = event.submitter;
  if (!form.matches("form[data-quietly]") || !button?.name) return;
  event.preventDefault();
  const path = form.getAttribute("action");
  const isUnread = [button.name, button.value].includes("unread");
  const done = await send(path, { [button.name]: button.value });
  if (!done) return;
  for (const open of document.querySelectorAll("details.more[open]")) open.open = false;
  const unpaint = done.kept && paintKept(button);
  if (!done.kept) for (const node of parts()) await renew(node);
  if (done.dropped) {
    toast(say("js.dropped"), async () => { if (await send(path, { keep: done.dropped })) renewAll(); });
  }
  if (!done.undo && !done.again && !done.kept) return;
  toast(saidOf(isUnread, done.kept), async () => {
    if (!(await takeBack(path, done))) return;
    unpaint?.();
    toast(say("js.undone"));
    renewAll();
  });
}

// Chapters that are being kept say how far they are.
async function look() {
  const coming = [...document.querySelectorAll("[data-coming]")];
  if (!coming.length) { watching = 0; return; }
  let over = false;
  for (const node of coming) {
    const kept = await ask(`/api/v1/chapters/${node.dataset.coming}/download`);
    const bar = node.querySelector("progress");
    if (kept && bar) { bar.max = kept.total ?? 1; bar.value = kept.done; }
    over ||= !kept || kept.status === "done" || kept.status === "failed";
  }
  watching = setTimeout(look, EVERY);
  if (over) renewAll();
}

function watch() {
  if (!watching && document.querySelector("[data-coming]")) watching = setTimeout(look, EVERY);
}

export function startLibrary() {
  document.querySelector("form[data-picks]")?.addEventListener("change", (event) => event.currentTarget.requestSubmit());
  if (!parts().length) return;
  document.addEventListener("submit", onSubmit);
  document.addEventListener("click", (event) => {
    for (const open of document.querySelectorAll("details.more[open]")) if (!open.contains(event.target)) open.open = false;
  });
  on("counts", renewAll);
  on("entry", renewAll);
  on("feed", renewAll);
  addEventListener("marks-sent", renewAll);
  watch();
}
