// Keeps one page for when there is no network. What belongs to somebody is never kept.
const kept = KEPT;
const name = ["tsuzuki", VERSION, ...kept].join(" ");

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(name).then((cache) => cache.addAll(kept)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const forget = caches.keys().then((all) => Promise.all(all.filter((one) => one !== name).map((one) => caches.delete(one))));
  event.waitUntil(forget.then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET") return;
  if (request.mode === "navigate") event.respondWith(fetch(request).catch(() => caches.match(kept[0])));
  else if (kept.includes(new URL(request.url).pathname)) event.respondWith(caches.match(request).then((hit) => hit ?? fetch(request)));
});
