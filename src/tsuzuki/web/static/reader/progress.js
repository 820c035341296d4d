// How far the chapter was read, told to the server: soon after a page was turned, and at once when the reader leaves.

const SOON = 700;

/** Tells pages to the server; `heard` is told how the chapter stands. @param {string} path @param {number} count */
export function keeper(path, count, heard) {
  let told = null;
  let pending = null;
  let timer = 0;

  async function tell() {
    clearTimeout(timer);
    if (!pending || pending.page === told) return;
    const sent = pending;
    told = sent.page;
    try {
      const response = await fetch(path, {
        method: "PUT",
        headers: { accept: "application/json", "content-type": "application/json" },
        body: JSON.stringify({ page: sent.page, at: sent.at, page_count: count }),
        keepalive: true,
      });
      if (!response.ok) throw new Error(response.statusText);
      heard((await response.json()).data);
    } catch {
      if (told === sent.page) told = null; // the next page, or the network's return, tries again
    }
  }

  addEventListener("pagehide", tell);
  addEventListener("online", tell);
  document.addEventListener("visibilitychange", () => { if (document.hidden) tell(); });
  return (page) => {
    pending = { page, at: new Date().toISOString() };
    clearTimeout(timer);
    timer = setTimeout(tell, SOON);
  };
}
