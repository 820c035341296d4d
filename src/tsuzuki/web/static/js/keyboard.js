// Keys. A page registers one by `data-key` on a link, button or field: the key then does what a click would. What is no element is
// bound by `bind`. `?` lists them all, by their labels; "g i" is g, then i.
import { say } from "./say.js";

const bound = new Map();
const PATIENCE = 1200;
let before = "";
let timer = 0;

/** Do something at a key. @param {string} keys @param {string} label @param {function(): void} run */
export function bind(keys, label, run) {
  bound.set(keys, { label, run });
}

function nameOf(event) {
  const letter = event.key.length === 1 && event.key.toLowerCase() !== event.key.toUpperCase();
  const key = letter ? event.key.toLowerCase() : event.key;
  return (event.ctrlKey || event.metaKey ? "Ctrl+" : "") + (event.shiftKey && letter ? "Shift+" : "") + key;
}

const isTyping = (node) => node.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");

function elementAt(keys) {
  const found = [...document.querySelectorAll(`[data-key="${CSS.escape(keys)}"]`)];
  return found.findLast((node) => node.checkVisibility()) ?? (keys.startsWith("g ") ? found.at(-1) : undefined);
}

function press(keys) {
  const action = bound.get(keys);
  if (action) return action.run() !== false;
  const node = elementAt(keys);
  if (!node) return false;
  if (node.matches("input:not([type=checkbox]), textarea, select")) node.focus();
  else node.click();
  return true;
}

function onKey(event) {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const name = nameOf(event);
  const modified = event.ctrlKey || event.metaKey;
  const dialog = document.querySelector("dialog[open]");
  if (dialog && name === "Escape") {
    // A field of a closed dialog keeps the focus until the next frame, and would swallow a key that comes before it.
    dialog.close();
    if (dialog.contains(document.activeElement)) document.activeElement.blur();
    event.preventDefault();
    return;
  }
  if (dialog || (isTyping(event.target) && !modified)) return;
  clearTimeout(timer);
  const keys = before ? `${before} ${name}` : name;
  before = "";
  if (press(keys)) {
    event.preventDefault();
  } else if (keys === "g") {
    before = "g";
    timer = setTimeout(() => { before = ""; }, PATIENCE);
  }
}

function labelOf(node) {
  if (node.dataset.label) return node.dataset.label;
  const text = (node.querySelector(":scope > span")?.textContent || node.getAttribute("aria-label") || node.textContent).trim();
  return node.dataset.key.startsWith("g ") ? say("js.go", { place: text }) : text;
}

function keysOf(name) {
  const span = document.createElement("dd");
  for (const part of name.split(" ")) {
    const key = document.createElement("kbd");
    key.textContent = part.replace("+", " ");
    span.append(key, " ");
  }
  return span;
}

function section(title, rows) {
  const part = document.createElement("section");
  const heading = document.createElement("h3");
  heading.textContent = title;
  const list = document.createElement("dl");
  for (const [name, label] of rows) {
    const row = document.createElement("div");
    const term = document.createElement("dt");
    term.textContent = label;
    row.append(term, keysOf(name));
    list.append(row);
  }
  part.append(heading, list);
  return part;
}

function showHelp() {
  const dialog = document.getElementById("help");
  if (!dialog) return;
  const labels = new Map([...document.querySelectorAll("[data-key]")].map((node) => [node.dataset.key, labelOf(node)]));
  for (const [name, action] of bound) labels.set(name, action.label);
  const isEverywhere = (name) => name.startsWith("g ") || name.startsWith("Ctrl") || ["/", "?", "Escape"].includes(name);
  const everywhere = [...labels].filter(([name]) => isEverywhere(name));
  const here = [...labels].filter(([name]) => !isEverywhere(name));
  dialog.querySelector(".help-keys").replaceChildren(
    ...(here.length ? [section(say("js.keys_here"), here)] : []),
    section(say("js.keys_everywhere"), everywhere),
  );
  dialog.showModal();
}

function escape() {
  const drawer = document.querySelector("[popover]:popover-open");
  if (drawer) drawer.hidePopover();
  else if (document.activeElement !== document.body) document.activeElement.blur();
}

export function startKeyboard() {
  bind("?", say("js.help"), showHelp);
  bind("Escape", say("js.close"), escape);
  for (const button of document.querySelectorAll("[data-open=help]")) button.addEventListener("click", showHelp);
  document.addEventListener("keydown", onKey);
}
