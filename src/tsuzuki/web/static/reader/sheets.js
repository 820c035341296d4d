// The pages themselves: which of them stand together, images that do not come, and those that are fetched ahead.
import { ask } from "../js/send.js";

const isSparing = navigator.connection?.saveData ?? false;
const AHEAD = isSparing ? 1 : 4;
const NEXT = 2;
const TALL = 2.5;

const ratio = (image) => (image.naturalWidth ? image.naturalHeight / image.naturalWidth : 0);
const isWide = (image) => image.naturalWidth > 0 && ratio(image) < 1;

/** Whether these images are a webtoon's. */
export const isTall = (images) => images.length > 0 && images.every((image) => ratio(image) > TALL);

/** Which pages are seen at once: the first alone, wide ones alone, others in pairs. @returns {number[][]} */
export function spreads(images) {
  const all = [];
  for (let at = 0; at < images.length; at += all.at(-1).length) {
    const alone = at === 0 || at + 1 >= images.length || isWide(images[at]) || isWide(images[at + 1]);
    all.push(alone ? [at] : [at, at + 1]);
  }
  return all;
}

/** Let the pages from here on come before they are looked at. */
export function fetchAhead(images, from) {
  for (const image of images.slice(Math.max(0, from), from + 1 + AHEAD)) image.loading = "eager";
}

/** Let the first pages of the next chapter come, one after the other; not for who pays for every byte. */
export async function fetchNext(release) {
  if (isSparing) return;
  const pages = (await ask(`/api/v1/chapters/${release}/pages`)) ?? [];
  for (const { image } of pages.slice(0, NEXT)) {
    const coming = new Image();
    coming.src = image;
    await coming.decode().catch(() => {});  // whoever opens the chapter sees what is wrong with it
  }
}

function again(image, address) {
  image.removeAttribute("src");
  image.src = `${address}?refresh=true`;
}

/** Watch an image: say that it is there, or that it is not, with a way to try again. */
export function watch(image, words, arrived) {
  const sheet = image.closest(".sheet");
  const address = image.getAttribute("src").split("?")[0];
  const came = () => {
    sheet.classList.add("came");
    sheet.querySelector(".broken")?.remove();
    image.hidden = false;
    arrived();
  };
  const broke = () => {
    if (sheet.querySelector(".broken")) return;
    const box = document.createElement("div");
    box.className = "broken";
    box.setAttribute("role", "alert");
    const text = document.createElement("p");
    text.textContent = `${image.alt}: ${words.broken}`;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button quiet small";
    button.textContent = words.retry;
    button.addEventListener("click", () => { box.remove(); image.hidden = false; again(image, address); });
    box.append(text, button);
    image.hidden = true;
    sheet.append(box);
  };
  image.addEventListener("load", came);
  image.addEventListener("error", broke);
  if (image.complete && image.getAttribute("src")) (image.naturalWidth ? came : broke)();
}
