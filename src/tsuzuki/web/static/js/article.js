// An article: read once it is open, shared, its pictures enlarged.
import { copy } from "./copy.js";
import { startPlayers } from "./players.js";
import { say } from "./say.js";
import { send } from "./send.js";
import { toast } from "./toasts.js";

async function share(event) {
  const { title, link } = event.currentTarget.dataset;
  try {
    if (navigator.share) return await navigator.share({ title, url: link });
    toast((await copy(link)) ? say("js.copied") : say("js.failed"));
  } catch (error) {
    if (error.name !== "AbortError") toast(say("js.failed"));
  }
}

function enlarge(picture) {
  const dialog = document.createElement("dialog");
  dialog.className = "zoom";
  dialog.setAttribute("aria-label", say("js.zoom"));
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-label", say("js.close_picture"));
  const copy = new Image();
  copy.src = picture.currentSrc || picture.src;
  copy.alt = picture.alt;
  button.append(copy);
  dialog.append(button);
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

async function press(form, event) {
  const button = event.submitter;
  if (!button?.dataset.flip) return;
  event.preventDefault();
  const done = await send(form.getAttribute("action"), { [button.name]: button.value });
  if (!done) return;
  const on = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(on));
  [button.name, button.dataset.flip] = [button.dataset.flip, button.name];
  const [words, other] = [button.querySelector("span"), button.dataset.other];
  button.dataset.other = words.textContent;
  words.textContent = other;
}

export function startArticle() {
  const article = document.querySelector("[data-article]");
  if (!article) return;
  if (article.dataset.unread) send("/inbox/mark", { read: article.dataset.unread }, { keepalive: true, quiet: true });
  startPlayers();
  document.querySelector("[data-share]")?.addEventListener("click", share);
  for (const form of document.querySelectorAll("form[data-flips]")) form.addEventListener("submit", (event) => press(form, event));
  article.addEventListener("click", (event) => {
    const picture = event.target.closest("img");
    if (picture && !picture.closest("a")) enlarge(picture);
  });
}
