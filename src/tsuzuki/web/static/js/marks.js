// Marks that could not be sent: kept in this browser with the moment they were made, and sent in their order when there is a way.
import { say } from "./say.js";
import { toast } from "./toasts.js";

export const MARK = "/inbox/mark";
const KEPT = "marks";
const MOST = 500;
const AT_ONCE = 200;
const AGAIN = 15000;
const AXES = { read: "read", unread: "read", save: "save", unsave: "save" };

const who = () => document.body.dataset.who ?? "";

function all() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT));
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

/** @returns {boolean} whether it could be kept */
function write(marks) {
  try {
    if (marks.length) localStorage.setItem(KEPT, JSON.stringify(marks));
    else localStorage.removeItem(KEPT);
    return true;
  } catch {
    return false;
  }
}

const same = (one, other) => one.who === other.who && one.value === other.value && AXES[one.name] === AXES[other.name];
const mine = () => all().filter((one) => one.who === who());

/** How many wait. */
export const waiting = () => mine().length;

/** Keep what a form would post; the newest mark of an entry is the one that counts. False when it cannot be kept. */
export function keepMarks(fields) {
  const at = Date.now();
  const made = [...new URLSearchParams(fields)].filter(([name]) => name in AXES).map(([name, value]) => ({ who: who(), name, value, at }));
  const others = all().filter((one) => !made.some((other) => same(one, other)));
  const done = write([...others, ...made].slice(-MOST));
  showWaiting();
  return done;
}

/** The line above the page: being offline, and how many marks wait. */
export function showWaiting() {
  const line = document.querySelector(".offline-line");
  if (!line) return;
  const count = waiting();
  line.hidden = navigator.onLine && !count;
  line.querySelector("[data-offline]").hidden = navigator.onLine;
  const words = count === 1 ? say("js.waiting_one") : say("js.waiting_many", { count: count.toLocaleString(navigator.language) });
  line.querySelector("[data-waiting]").textContent = count ? words : "";
}

/** The oldest marks that were made at the same moment. */
function nextBatch() {
  const [first, ...others] = mine();
  if (!first) return null;
  const end = others.findIndex((one) => one.at !== first.at);
  return [first, ...(end < 0 ? others : others.slice(0, end))].slice(0, AT_ONCE);
}

function drop(batch) {
  write(all().filter((one) => !batch.some((sent) => same(one, sent) && one.at === sent.at)));
}

const isOver = (status) => status < 500 && ![401, 403, 408, 429].includes(status);

async function sendAll() {
  let refused = false;
  for (let batch = nextBatch(); batch; batch = nextBatch()) {
    const fields = [...batch.map(({ name, value }) => [name, value]), ["at", String(batch[0].at)]];
    const response = await fetch(MARK, {
      method: "POST",
      headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(fields).toString(),
      redirect: "manual",
    }).catch(() => null);
    if (!response || response.type === "opaqueredirect" || !isOver(response.status)) return;  // they wait on
    refused ||= !response.ok;
    drop(batch);
    showWaiting();
  }
  toast(say(refused ? "js.marks_refused" : "js.marks_sent"));
  dispatchEvent(new Event("marks-sent"));
}

let sending = false;
const alone = navigator.locks ? (run) => navigator.locks.request("marks", run) : (run) => run();  // one tab at a time

/** Send what waits; what cannot be sent waits on. */
export async function sendWaiting() {
  if (sending || !waiting()) return showWaiting();
  sending = true;
  try {
    await alone(async () => { if (waiting()) await sendAll(); });
  } finally {
    sending = false;
    showWaiting();
  }
}

export function startMarks() {
  addEventListener("online", sendWaiting);
  addEventListener("storage", showWaiting);
  setInterval(() => { if (waiting()) sendWaiting(); }, AGAIN);
  sendWaiting();
}
