// What this browser keeps: values by their names, and lists of what waits to be sent, each with who made it and when. A browser that keeps
// nothing is told so, and nothing breaks.

/** The value of this name; null where there is none. */
export function read(name) {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return null;
  }
}

/** Keep a value; null forgets it. Pages hear of it by the event `kept`. @returns {boolean} whether it could be kept */
export function write(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, JSON.stringify(value));
  } catch {
    return false;
  }
  dispatchEvent(new Event("kept"));
  return true;
}

/** A list of what waits: the newest `most`, of everybody who uses this browser. */
export class Waiting {
  constructor(name, most) {
    this.name = name;
    this.most = most;
  }

  get who() { return document.body.dataset.who ?? ""; }
  get all() { return list(this.name).filter((one) => typeof one?.key === "string"); }
  get mine() { return this.all.filter((one) => one.who === this.who); }

  /** Put these at the end; of what has the same key the newest counts. False when they cannot be kept. */
  add(made) {
    const { who } = this;
    const keys = new Set(made.map(({ key }) => key));
    const others = this.all.filter((one) => one.who !== who || !keys.has(one.key));
    return this.#write([...others, ...made.map((one) => ({ ...one, who }))].slice(-this.most));
  }

  /** Take these out; what was made anew meanwhile stays. @returns {boolean} whether some of them still waited */
  drop(done) {
    const { all, who } = this;
    const left = all.filter((one) => one.who !== who || !done.some(({ key, at }) => one.key === key && one.at === at));
    if (left.length < all.length) this.#write(left);
    return left.length < all.length;
  }

  #write(kept) { return write(this.name, kept.length ? kept : null); }
}

/** Whether what was answered so would be answered so again: it waits no longer. */
export const isOver = (status) => status < 500 && ![401, 403, 408, 429].includes(status);

/** The list of this name; an empty one where there is none. */
export function list(name) {
  const kept = read(name);
  return Array.isArray(kept) ? kept : [];
}
