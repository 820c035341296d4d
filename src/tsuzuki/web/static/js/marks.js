// Marks that could not be sent: kept in this browser with the moment they were made, and sent in their order when there is a way.
import { Waiting, isOver } from "./kept.js";
import { say } from "./say.js";
import { toast } from "./toasts.js";

const MARKING = /^\/inbox\/mark(-all)?$|^\/series\/[\w-]+\/mark$/;
const AT_ONCE = 200;
const AXES = { read: "read", unread: "read", save: "save", unsave: "save" };
const PASSING = ["back", "page", "newest"];  // of a form, but not what it is about
const kept = new Waiting("marks", 500);

/** How many wait. */
export const waiting = () => kept.mine.length;

/** Whether what is posted there can wait for a network. */
export const canWait = (path) => MARKING.test(path);

/** What a form would post, in pieces: one for each thing that is marked, or one for the whole list. */
function pieces(path, fields) {
  const pairs = [...new URLSearchParams(fields)];
  const single = pairs.filter(([name]) => name in AXES);
  if (single.length) return single.map(([name, value]) => ({ path, key: `${path} ${AXES[name]} ${value}`, fields: [[name, value]] }));
  const about = pairs.filter(([name]) => !PASSING.includes(name)).map(([name, value]) => (name === "all" ? name : `${name}=${value}`));
  return [{ path, key: `${path} ${about.join(" ")}`, fields: pairs.filter(([name]) => name !== "back" && name !== "page") }];
}

/** Keep what a form would post; of one thing the newest mark counts. The pieces, or null when they cannot be kept. */
export function keepMarks(path, fields) {
  const at = Date.now();
  const made = pieces(path, fields).map((one) => ({ ...one, at }));
  return kept.add(made) ? made : null;
}

/** What a mark did, in words. */
export function saidOf(isUnread, isKept) {
  if (isKept) return isUnread ? say("js.unread_later") : say("js.read_later");
  return isUnread ? say("js.unread") : say("js.read");
}

/** Take back marks that were kept. @returns {boolean} false when they have been sent already */
export const forgetMarks = (made) => kept.drop(made);

const isSingle = (one) => one.fields[0][0] in AXES;

/** The oldest marks that can be posted together: made at the same moment, and about single things. */
function nextBatch() {
  const [first, ...others] = kept.mine;
  if (!first) return null;
  if (!isSingle(first)) return [first];
  const end = others.findIndex((one) => one.at !== first.at || one.path !== first.path || !isSingle(one));
  return [first, ...(end < 0 ? others : others.slice(0, end))].slice(0, AT_ONCE);
}

async function sendAll() {
  let refused = false;
  for (let batch = nextBatch(); batch; batch = nextBatch()) {
    const response = await fetch(batch[0].path, {
      method: "POST",
      headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams([...batch.flatMap(({ fields }) => fields), ["at", String(batch[0].at)]]).toString(),
      redirect: "manual",
    }).catch(() => null);
    if (!response || response.type === "opaqueredirect" || !isOver(response.status)) return;  // they wait on
    refused ||= !response.ok;
    kept.drop(batch);
  }
  toast(say(refused ? "js.marks_refused" : "js.marks_sent"));
  dispatchEvent(new Event("marks-sent"));
}

let sending = false;
const alone = navigator.locks ? (run) => navigator.locks.request("marks", run) : (run) => run();  // one tab at a time

/** Send what waits; what cannot be sent waits on. */
export async function sendMarks() {
  if (sending || !waiting()) return;
  sending = true;
  try {
    await alone(async () => { if (waiting()) await sendAll(); });
  } finally {
    sending = false;
  }
}
