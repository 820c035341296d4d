// Being without a network: a line that says so, marks that wait, and a page that waits.
import { showWaiting, startMarks } from "./marks.js";
import { forgetPlaces } from "./players.js";

export function startOffline() {
  addEventListener("online", showWaiting);
  addEventListener("offline", showWaiting);
  showWaiting();
  startMarks();
  document.querySelector("[data-leaving]")?.addEventListener("submit", forgetPlaces);
  navigator.serviceWorker?.register("/sw.js").catch(() => {});
}
