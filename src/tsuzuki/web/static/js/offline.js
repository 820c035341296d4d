// Being without a network: a line that says so, and a page that waits.

function show() {
  const line = document.querySelector(".offline-line");
  if (line) line.hidden = navigator.onLine;
}

export function startOffline() {
  addEventListener("online", show);
  addEventListener("offline", show);
  show();
  navigator.serviceWorker?.register("/sw.js").catch(() => {});
}
