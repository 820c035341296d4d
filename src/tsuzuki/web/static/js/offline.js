// Being without a network: a line that says so and what waits, and a page that waits.
import { sendMarks, waiting } from "./marks.js";
import { forgetPlaces } from "./players.js";
import { sendProgress, waitingProgress } from "./progress.js";
import { say } from "./say.js";

const AGAIN = 15000;

const written = (count) => ({ count: count.toLocaleString(navigator.language) });

function whatWaits() {
  const [marks, chapters] = [waiting(), waitingProgress()];
  const words = [];
  if (marks) words.push(marks === 1 ? say("js.waiting_one") : say("js.waiting_many", written(marks)));
  if (chapters) words.push(chapters === 1 ? say("js.unsaid_one") : say("js.unsaid_many", written(chapters)));
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
