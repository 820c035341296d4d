// What happens on the shelf while the page is open. htmx holds the stream (and lets it go while the tab is hidden) and gives each event
// to #live; modules listen with `on`.

const listeners = { counts: [], entry: [], feed: [] };

/** Hear of an event: counts, entry or feed. @param {string} kind @param {function(Object): void} listener */
export function on(kind, listener) {
  listeners[kind].push(listener);
}

const language = navigator.language;

function show(node, count) {
  node.textContent = count ? count.toLocaleString(language) : "";
}

function showCounts(counts) {
  for (const node of document.querySelectorAll("[data-count]")) show(node, counts[node.dataset.count] ?? 0);
  for (const node of document.querySelectorAll("[data-count-group]")) show(node, counts.groups[node.dataset.countGroup] ?? 0);
  for (const node of document.querySelectorAll("[data-count-feed]")) show(node, counts.feeds[node.dataset.countFeed] ?? 0);
  const number = counts.unread ? ` (${counts.unread.toLocaleString(language)})` : "";
  if (/ · Tsuzuki$/.test(document.title)) document.title = document.title.replace(/(?: \([^)]*\))? · Tsuzuki$/, `${number} · Tsuzuki`);
  navigator.setAppBadge?.(counts.unread).catch(() => {});
}

export function startLive() {
  const live = document.getElementById("live");
  if (!live) return;
  on("counts", showCounts);
  on("counts", () => { live.dataset.heard = ""; });
  for (const [kind, all] of Object.entries(listeners)) {
    live.addEventListener(kind, (event) => {
      const data = JSON.parse(event.detail.data);
      for (const listener of all) listener(data);
    });
  }
  // htmx looks at the page in a timeout of its own, which may come before its extension has been loaded: an attribute in the page
  // would then be overlooked. This timeout comes after that one, and a module runs after both scripts.
  setTimeout(() => {
    live.setAttribute("hx-sse:connect", live.dataset.stream);
    htmx.process(live);
  });
}
