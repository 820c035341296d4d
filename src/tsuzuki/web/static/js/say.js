// A script before this one brings what scripts say: one catalogue for them and the pages.
const said = globalThis.said ?? {};
const plurals = new Intl.PluralRules(document.documentElement.lang);

/** The message of this key with the values in it. @param {string} key @param {Object} values */
export function say(key, values = {}) {
  return filled(said[key] ?? key, values);
}

/** The same in the form for this number. @param {string} key @param {number} number */
export function sayMany(key, number) {
  const text = said[key]?.[plurals.select(number)] ?? said[key]?.other ?? key;
  return filled(text, { count: number.toLocaleString(navigator.language) });
}

const filled = (text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => values[name] ?? "");

/** Let a button do, show and be called something else; what it is about stays in its name. */
export function relabel(button, name, glyph, words) {
  const subject = button.getAttribute("aria-label").slice(button.title.length);
  button.name = name;
  button.replaceChildren(icon(glyph));
  button.title = words;
  button.setAttribute("aria-label", words + subject);
}

const icons = document.body.dataset.icons;

/** An icon of the sprite. @param {string} name @returns {SVGElement} */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `${icons}#${name}`);
  svg.append(use);
  return svg;
}
