// Being without a network: a line that says so and what waits, and a page that waits.
import { sendMarks, waiting } from "./marks.js";
import { forgetPlaces } from "./players.js";
import { sendProgress, waitingProgress } from "./progress.js";
import { sayMany } from "./say.js";

const AGAIN = 15000;

function whatWaits() {
  const [marks, chapters] = [waiting(), waitingProgress()];
  const words = [];
  if (marks) words.push(sayMany("js.waiting", marks));
  if (chapters) words.push(sayMany("js.unsaid", chapters));
  return words.join(" ");
}

/** The line above the page: being offline, and how much waits. */
function showWaiting() {
  const line = document.querySelector(".offline-line");
  if (!line) return;
  const words = whatWaits();
  line.hidden = navigator.onLine && !words;
  line.querySelector("[data-offline]").hidden = navigator.onLine;
  line.querySelector("[data-waiting]").textContent = words;
}

function sendWaiting() {
  showWaiting();
  sendMarks();
  sendProgress();
}

export function startOffline() {
  for (const event of ["kept", "storage", "offline"]) addEventListener(event, showWaiting);
  addEventListener("online", sendWaiting);
  setInterval(() => { if (waiting() || waitingProgress()) sendWaiting(); }, AGAIN);
  sendWaiting();
  document.querySelector("[data-leaving]")?.addEventListener("submit", forgetPlaces);
  navigator.serviceWorker?.register("/sw.js").catch(() => {});
}
