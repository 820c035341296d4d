// One field for everything: commands of the page (places and `data-command`), themes, and what a search finds.
import { ask } from "./send.js";
import { bind } from "./keyboard.js";
import { icon, say } from "./say.js";
import { setTheme } from "./looks.js";

const WAIT = 180;
const MOST = 6;
let chosen = 0;
let hasMoved = false;
let asked = 0;

const dialog = () => document.getElementById("palette");
const field = () => dialog().querySelector("input");
const list = () => document.getElementById("palette-list");

function commands() {
  const places = [...document.querySelectorAll(".places a, [data-command]")].filter((node) => getComputedStyle(node).display !== "none").map((node) => ({
    name: (node.querySelector("span")?.textContent ?? node.textContent).trim(),
    icon: node.querySelector("use")?.getAttribute("href").split("#")[1] ?? "chevron-right",
    keys: node.dataset.key ?? "",
    run: () => node.click(),
  }));
  const themes = [["light", "sun"], ["dark", "moon"], ["auto", "monitor"]].map(([theme, glyph]) => ({
    name: say(`js.theme_${theme}`), icon: glyph, keys: "", run: () => setTheme(theme),
  }));
  return [...places, ...themes];
}

const go = (path) => () => { location.href = path; };

async function found(text) {
  const data = await ask(`/api/v1/search?limit=${MOST}&q=${encodeURIComponent(text)}`);
  if (!data) return [];
  return [
    [say("js.feeds"), data.feeds.map((one) => ({ name: one.name, icon: "rss", run: go(`/?feed=${one.id}`) }))],
    [say("js.items"), data.items.map((one) => ({ name: one.display_title, icon: "newspaper", run: go(`/items/${one.id}`) }))],
    [say("js.series"), data.series.map((one) => ({ name: one.title, icon: "book-open", run: go(`/series/${one.id}`) }))],
  ];
}

function option(one, number) {
  const node = document.createElement("div");
  node.role = "option";
  node.id = `option-${number}`;
  const name = document.createElement("span");
  name.textContent = one.name;
  node.append(icon(one.icon), name);
  if (one.keys) {
    const key = document.createElement("kbd");
    key.textContent = one.keys.replace("+", " ");
    node.append(key);
  }
  node.addEventListener("click", () => { dialog().close(); one.run(); });
  return node;
}

function show(parts) {
  let number = 0;
  const nodes = [];
  for (const [title, options] of parts.filter(([, options]) => options.length)) {
    const heading = document.createElement("div");
    heading.className = "palette-title";
    heading.role = "presentation";
    heading.textContent = title;
    nodes.push(heading, ...options.map((one) => option(one, number++)));
  }
  if (!number) {
    const none = document.createElement("div");
    none.className = "palette-title";
    none.textContent = say("js.nothing");
    nodes.push(none);
  }
  const kept = hasMoved && options()[chosen]?.textContent;  // what is found late takes nobody's choice away
  list().replaceChildren(...nodes);
  choose(Math.max(0, options().findIndex((node) => node.textContent === kept)));
}

const options = () => [...list().querySelectorAll("[role=option]")];

function choose(number) {
  const all = options();
  chosen = all.length ? (number + all.length) % all.length : 0;
  all.forEach((node, at) => node.setAttribute("aria-selected", String(at === chosen)));
  if (all[chosen]) {
    field().setAttribute("aria-activedescendant", all[chosen].id);
    all[chosen].scrollIntoView({ block: "nearest" });
  } else field().removeAttribute("aria-activedescendant");
}

function move(by) {
  hasMoved = true;
  choose(chosen + by);
}

async function look() {
  const text = field().value.trim();
  const mine = ++asked;
  hasMoved = false;
  const words = text.toLowerCase().split(/\s+/);
  const fitting = commands().filter((one) => words.every((word) => ` ${one.name.toLowerCase()}`.includes(` ${word}`)));
  const searching = text ? [["", [{ name: say("js.search_for", { text }), icon: "search", run: go(`/search?q=${encodeURIComponent(text)}`) }]]] : [];
  show([[say("js.commands"), fitting.slice(0, text ? MOST : 40)], ...searching]);
  if (text.length < 2) return;
  await new Promise((done) => setTimeout(done, WAIT));
  if (mine !== asked) return;
  const results = await found(text);
  if (mine === asked && dialog().open) show([[say("js.commands"), fitting.slice(0, MOST)], ...results, ...searching]);
}

function openPalette() {
  field().value = "";
  dialog().showModal();
  field().focus();
  look();
}

function onKey(event) {
  if (event.key === "ArrowDown") move(1);
  else if (event.key === "ArrowUp") move(-1);
  else if (event.key === "Enter") options()[chosen]?.click();
  else return;
  event.preventDefault();
}

export function startPalette() {
  if (!dialog()) return;
  for (const button of document.querySelectorAll("[data-open=palette]")) {
    button.addEventListener("click", () => { document.getElementById("side").matches(":popover-open") && document.getElementById("side").hidePopover(); openPalette(); });
  }
  bind("Ctrl+k", say("js.palette"), openPalette);
  bind("/", say("js.palette"), openPalette);
  field().addEventListener("input", look);
  field().addEventListener("keydown", onKey);
  dialog().addEventListener("click", (event) => { if (event.target === dialog()) dialog().close(); });
}
