// What every page of the app runs. Each module finds what it is about, or does nothing; without scripts forms and links do the work.
import { startKeyboard } from "./keyboard.js";
import { startPalette } from "./palette.js";
import { startLive } from "./live.js";
import { startList } from "./list.js";
import { startArticle } from "./article.js";
import { startFeeds } from "./feeds.js";
import { startLibrary } from "./library.js";
import { startLooks } from "./looks.js";
import { startCopying } from "./copy.js";
import { startOffline } from "./offline.js";
import { startPush } from "./push.js";

document.documentElement.classList.add("scripted");
document.body.insertAdjacentHTML("beforeend", globalThis.dialogs ?? "");
document.querySelector("#side [aria-current]")?.scrollIntoView({ block: "nearest", behavior: "instant" });
startLooks();
startOffline();
startPush();
startList();
startArticle();
startCopying();
startFeeds();
startLibrary();
startLive();
startPalette();
startKeyboard();
