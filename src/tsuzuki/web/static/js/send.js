// Posting what a form would post, without leaving the page.
import { say } from "./say.js";
import { toast } from "./toasts.js";

/** Post fields; the answer's data, or null when it did not work (the reader is told). @returns {Promise<any>} */
export async function send(path, fields, { keepalive = false, quiet = false } = {}) {
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
