// The library and the pages of series: parts that are kept true, marks without leaving, chapters that are being kept.
import { on } from "./live.js";
import { say } from "./say.js";
import { ask, send } from "./send.js";
import { toast } from "./toasts.js";

const SOON = 400;
const EVERY = 1500;
let timer = 0;
let watching = 0;

const parts = () => [...document.querySelectorAll("[data-live-part]")];

function named(node) {
  const { name, value } = document.activeElement ?? {};
  return name && node.contains(document.activeElement) ? `[name="${CSS.escape(name)}"][value="${CSS.escape(value)}"]` : null;
}

async function renew(node) {
  const response = await fetch(node.dataset.livePart, { headers: { accept: "text/html" } }).catch(() => null);
  if (!response?.ok || response.redirected || node.querySelector("details.more[open]")) return;
  const focus = named(node);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  node.replaceChildren(...page.body.childNodes);
  if (focus) node.querySelector(focus)?.focus({ preventScroll: true });
  watch();
}

function renewAll() {
  clearTimeout(timer);
  timer = setTimeout(() => { for (const node of parts()) renew(node); }, SOON);
}

async function onSubmit(event) {
  const form = event.target;
  const button = event.submitter;
  if (!form.matches("form[data-quietly]") || !button?.name) return;
  event.preventDefault();
  const done = await send(form.getAttribute("action"), { [button.name]: button.value });
  if (!done) return;
  for (const open of document.querySelectorAll("details.more[open]")) open.open = false;
  for (const node of parts()) await renew(node);
  if (!done.undo) return;
  toast(say("js.read"), async () => {
    if (await send("/inbox/undo", { undo: done.undo })) { toast(say("js.undone")); renewAll(); }
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
  watch();
}
