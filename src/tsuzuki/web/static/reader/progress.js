// When the server is told how far the chapter was read: soon after a page was turned, and at once when the reader leaves.
import { tellProgress } from "../js/progress.js";

const SOON = 700;

/** Tells pages to the server; `heard` is told how the chapter stands. @param {{series: string, chapter: string}} of @param {number} count */
export function keeper(of, count, heard) {
  let told = null;
  let pending = null;
  let timer = 0;

  async function tell() {
    clearTimeout(timer);
    if (!pending || pending.page === told) return;
    const sent = pending;
    told = sent.page;
    const stands = await tellProgress(of, { page: sent.page, at: sent.at, page_count: count });
    if (stands) heard(stands);
  }

  addEventListener("pagehide", tell);
  document.addEventListener("visibilitychange", () => { if (document.hidden) tell(); });
  return (page) => {
    pending = { page, at: new Date().toISOString() };
    clearTimeout(timer);
    timer = setTimeout(tell, SOON);
  };
}
