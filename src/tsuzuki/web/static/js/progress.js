// How far chapters were read, told to the server. What finds no way is kept in this browser with its moment, and told from whichever page is
// open when there is one; the newest counts, whatever arrives first.
import { Waiting, isOver } from "./kept.js";

const kept = new Waiting("progress", 200);

/** Of how many chapters it waits. */
export const waitingProgress = () => kept.mine.length;

async function post(method, path, body) {
  const headers = { accept: "application/json", "content-type": "application/json" };
  const response = await fetch(path, { method, headers, body: JSON.stringify(body), keepalive: true });
  if (!response.ok) throw Object.assign(new Error(response.statusText), { status: response.status });
  return (await response.json()).data;
}

/** Tell a page of a chapter. @returns {Promise<any>} how the chapter stands, or null when that has to wait */
export async function tellProgress({ series, chapter }, said) {
  if ("readsOnly" in document.body.dataset) return null;  // a shelf that is only read keeps nobody's place
  const one = { key: `${series} ${chapter}`, series_id: series, chapter_id: chapter, ...said };
  if (!navigator.onLine) kept.add([one]);  // at once: the page may be gone before it is known that there is no way
  try {
    const stands = await post("PUT", `/api/v1/series/${series}/chapters/${chapter}/progress`, said);
    kept.drop([one]);
    return stands;
  } catch {
    kept.add([one]);
    return null;
  }
}

async function sendSome(some) {
  try {
    await post("POST", "/api/v1/progress/batch", { progress: some.map(({ who: _, key: __, ...one }) => one) });
    kept.drop(some);
  } catch ({ status }) {
    if (!isOver(status)) return;  // it waits for another time
    if (some.length === 1) kept.drop(some);
    else for (const one of some) await sendSome([one]);  // one that is refused, as after an upgrade, holds up no other
  }
}

/** Send what waits; what cannot be sent waits on. */
export async function sendProgress() {
  const { mine } = kept;
  if (mine.length) await sendSome(mine);
}
