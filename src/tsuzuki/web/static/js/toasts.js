// Messages that go by themselves, some with a way back.
import { say } from "./say.js";

const LIFE = 7000;

/** Show a message; with `undo`, a button that calls it. Only the newest three stay. */
export function toast(text, undo = null) {
  const box = document.getElementById("toasts");
  if (!box) return;
  const one = document.createElement("div");
  one.className = "toast";
  const words = document.createElement("span");
  words.textContent = text;
  one.append(words);
  let timer = setTimeout(() => one.remove(), LIFE);
  if (undo) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = say("js.undo");
    button.dataset.key = "z";
    button.addEventListener("click", () => { one.remove(); undo(); });
    one.append(button);
  }
  one.addEventListener("pointerenter", () => clearTimeout(timer));
  one.addEventListener("focusin", () => clearTimeout(timer));
  one.addEventListener("pointerleave", () => { timer = setTimeout(() => one.remove(), LIFE); });
  box.append(one);
  while (box.children.length > 3) box.firstChild.remove();
}
