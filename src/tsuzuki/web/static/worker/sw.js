// Keeps one page for when there is no network. What belongs to somebody is never kept.
const kept = KEPT;
const icon = ICON;
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

// Messages: the browser demands that each is shown.
self.addEventListener("push", (event) => {
  const { id, title, body, path } = event.data?.json() ?? {};
  const shown = { body: body ?? "", tag: id, icon, data: { path: path ?? "/" } };
  event.waitUntil(self.registration.showNotification(title ?? "Tsuzuki", shown));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const wanted = new URL(event.notification.data?.path ?? "/", self.location.origin);
  if (wanted.origin !== self.location.origin) return;
  event.waitUntil((async () => {
    const open = await self.clients.matchAll({ type: "window" });
    const page = open.find((one) => one.url === wanted.href);
    return page ? page.focus() : self.clients.openWindow(wanted.href);
  })());
});

self.addEventListener("pushsubscriptionchange", (event) => {
  event.waitUntil((async () => {
    const options = event.oldSubscription?.options ?? { userVisibleOnly: true };
    const now = event.newSubscription ?? await self.registration.pushManager.subscribe(options);
    const { endpoint, keys } = now.toJSON();
    const body = new URLSearchParams({ url: endpoint, p256dh: keys.p256dh, auth: keys.auth, was: event.oldSubscription?.endpoint ?? "" });
    await fetch("/notifications/push", { method: "POST", headers: { accept: "application/json" }, body });
  })());
});
