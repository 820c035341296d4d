// Copying a text: by a button beside what is shown once, or for sharing.
import { say } from "./say.js";
import { toast } from "./toasts.js";

/** Copy a text. @returns {Promise<boolean>} false where a browser does not let a page do so */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {  // an address without https has no clipboard
    return false;
  }
}

async function onCopy(event) {
  const shown = document.getElementById(event.currentTarget.dataset.copy);
  if (await copy(shown.textContent)) return toast(say("js.copied_text"));
  getSelection().selectAllChildren(shown);
  toast(say("js.copy_by_hand"));
}

export function startCopying() {
  for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", onCopy);
}
