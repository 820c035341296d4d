// A job's log as it goes. The page already has the lines so far, and the stream tells them again: what is known is skipped by its id.
// When the job is over the page is loaded anew: its end is the server's to say.

const list = document.querySelector("[data-tail]");
const seen = new Set([...list.children].map((item) => item.dataset.id));
let stream = null;

function counter(name, value) {
  const node = document.querySelector(`[data-job=${name}]`);
  if (node) node.textContent = value.toLocaleString(navigator.language);
}

function line({ level, message, meta, createdat }) {
  const item = document.createElement("li");
  item.className = level;
  const word = document.createElement("b");
  word.textContent = level;
  const time = document.createElement("time");
  time.dateTime = createdat;
  time.className = "meta";
  time.textContent = createdat.slice(11, 19);
  item.append(word, " ", time, ` ${message}`);
  if (meta?.durationms !== undefined) {
    const took = document.createElement("span");
    took.className = "meta";
    took.textContent = ` ${meta.durationms} ms`;
    item.append(took);
  }
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  list.append(item);
  if (atEnd) list.scrollTop = list.scrollHeight;
}

function open() {
  stream = new EventSource(list.dataset.tail);
  stream.addEventListener("log", (event) => {
    const said = JSON.parse(event.data);
    if (seen.has(said.id)) return;
    seen.add(said.id);
    line(said);
  });
  stream.addEventListener("status", (event) => {
    const job = JSON.parse(event.data);
    counter("pagescount", job.pagescount);
    counter("errorcount", job.errorcount);
    if (["done", "failed", "cancelled"].includes(job.status)) {
      stream.close();
      location.replace(location.pathname);
    }
  });
}

// A hidden tab lets its connection go: a browser has six of them for one server.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    stream?.close();
    stream = null;
  } else if (!stream) {
    open();
  }
});
open();
