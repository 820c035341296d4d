// Posting what a form would post, without leaving the page.
import { canWait, forgetMarks, keepMarks, sendMarks, waiting } from "./marks.js";
import { say } from "./say.js";
import { toast } from "./toasts.js";

/** Post fields; the answer's data, or null when it did not work (the reader is told). A mark that finds no way waits for
 * one, and counts as done: `kept` is what waits. @returns {Promise<any>} */
export async function send(path, fields, { keepalive = false, quiet = false } = {}) {
  if ("readsOnly" in document.body.dataset && canWait(path)) {  // the shelf refuses it, and would for ever
    if (!quiet) toast(say("js.reads_only"));
    return null;
  }
  const keep = () => {
    const kept = canWait(path) && keepMarks(path, fields);
    return kept ? { kept } : null;
  };
  if (waiting()) {  // after those that were made before
    const done = keep();
    if (done) {
      sendMarks();
      return done;
    }
  }
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(fields).toString(),
      keepalive,
      redirect: "error",
    });
    if (response.ok) return response.status === 204 ? {} : (await response.json()).data;
    if (response.status === 401) location.reload();
    const body = await response.json().catch(() => ({}));
    if (!quiet) toast(body.error ?? say("js.failed"));
  } catch {
    const done = keep();
    if (done) return done;
    if (!quiet) toast(say(navigator.onLine ? "js.failed" : "js.offline"));
  }
  return null;
}

/** Take back what `send` did to this path: while it waits by forgetting it, else by its moment. @returns {Promise<boolean>} */
export async function takeBack(path, { kept, undo, again }) {
  if (kept && forgetMarks(kept)) return true;
  const isUnread = kept ? kept[0].fields[0].includes("unread") : Boolean(again);
  const moment = kept ? kept[0].at : undo ?? again;
  return Boolean(await (isUnread ? send(path, { again: moment }) : send("/inbox/undo", { undo: moment })));
}

/** Ask for JSON; null when it did not work. */
export async function ask(path) {
  try {
    const response = await fetch(path, { headers: { accept: "application/json" } });
    return response.ok ? (await response.json()).data : null;
  } catch {
    return null;
  }
}
