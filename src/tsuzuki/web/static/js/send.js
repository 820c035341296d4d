// Posting what a form would post, without leaving the page.
import { MARK, keepMarks, sendWaiting, waiting } from "./marks.js";
import { say } from "./say.js";
import { toast } from "./toasts.js";

/** Post fields; the answer's data, or null when it did not work (the reader is told). A mark that finds no way waits for
 * one, and counts as done. @returns {Promise<any>} */
export async function send(path, fields, { keepalive = false, quiet = false } = {}) {
  if (path === MARK && waiting() && keepMarks(fields)) {  // after those that were made before
    sendWaiting();
    return {};
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
    if (path === MARK && keepMarks(fields)) return {};
    if (!quiet) toast(say(navigator.onLine ? "js.failed" : "js.offline"));
  }
  return null;
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
