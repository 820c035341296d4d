// The page reader. Without this module the pages stand below one another; with it they are turned, and how far one came is kept.
import { bind } from "../js/keyboard.js";
import { read, write } from "../js/kept.js";
import { saidOf } from "../js/marks.js";
import { send, takeBack } from "../js/send.js";
import { toast } from "../js/toasts.js";
import { keeper } from "./progress.js";
import { fetchAhead, fetchNext, isTall, spreads, watch } from "./sheets.js";

const PAGED = ["ltr", "rtl", "double"];
const SWIPE = 45;
const PAUSE = 600;
const NEAR = 3;  // pages before the end
const small = matchMedia("(max-width: 40rem)");

class Reader {
  constructor(root) {
    this.root = root;
    this.sheets = [...root.querySelectorAll(".sheet")];
    this.images = this.sheets.map((sheet) => sheet.querySelector("img"));
    this.box = root.querySelector(".sheets");
    this.ending = root.querySelector(".ending");
    this.count = this.images.length;
    this.page = Math.min(Number(root.dataset.page), this.count - 1);
    this.remembered = `reader:${root.dataset.series}`;
    const own = this.bring(root.dataset);
    this.chosen = own.mode ?? null;
    this.mode = this.chosen ?? root.dataset.guess;
    this.fit = own.fit ?? null;
    this.isRight = root.dataset.guess === "rtl";
    this.keep = keeper(root.dataset, this.count, (told) => this.heard(told));
  }

  /** What was chosen: with the follow; before there was one, in this browser, which hands it over when there is. */
  bring({ series, followed, mode, fit }) {
    const here = read(this.remembered);
    if (followed === undefined) return here ?? {};
    if (here) write(this.remembered, null);
    if (mode || !here?.mode) return { mode, fit };
    send(`/series/${series}/reading`, { mode: here.mode, fit: here.fit ?? "" }, { quiet: true });
    return here;
  }

  get isPaged() { return PAGED.includes(this.mode); }
  get isRtl() { return this.mode === "rtl" || (this.mode === "double" && this.isRight); }
  get spreads() { return this.mode === "double" ? spreads(this.images) : this.images.map((_, at) => [at]); }

  start() {
    const { dataset } = this.root;
    this.images.forEach((image, at) => watch(image, { broken: dataset.sayBroken, retry: dataset.sayRetry }, () => this.arrived(at)));
    this.offerFurthest();
    this.dress();
    this.show(this.page, { isNew: false });
    addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.listen();
    this.bindKeys();
  }

  // -- how it looks

  dress() {
    const { root } = this;
    const fit = this.fit ?? (this.isPaged ? "height" : "width");
    root.className = `reader mode-${this.mode} fit-${fit} ${this.isPaged ? "is-paged" : "is-scrolled"}${this.isRtl ? " is-rtl" : ""}`;
    root.querySelector("[data-modes]").value = this.mode;
    root.querySelector("[data-fits]").value = fit;
  }

  async choose(changes) {
    Object.assign(this, changes);
    this.chosen = this.mode;
    const at = this.page;
    this.dress();
    this.show(at, { isNew: false });
    const wanted = { mode: this.mode, fit: this.fit ?? "" };
    if (this.root.dataset.followed !== undefined) return send(`/series/${this.root.dataset.series}/reading`, wanted);
    write(this.remembered, { mode: this.mode, fit: this.fit ?? undefined });
  }

  arrived(at) {
    if (!this.chosen && this.isPaged && at < 3 && this.page < 3 && isTall(this.images.slice(0, 2).filter((image) => image.complete && image.naturalWidth))) {
      this.mode = "webtoon";
      this.dress();
      this.show(this.page, { isNew: false });
    } else if (this.mode === "double") {
      this.turn(this.page);
    } else if (!this.isPaged && this.root.dataset.at !== undefined) {
      this.scrolled();
    }
    this.lookAhead();
  }

  /** Near the end, and once this chapter's own pages are in, the next chapter's may come. */
  lookAhead() {
    const { next } = this.root.dataset;
    if (!next || this.looked || this.page < this.count - NEAR) return;
    if (!this.images.slice(Math.min(this.page, this.count - 1)).every((image) => image.complete)) return;
    this.looked = true;
    fetchNext(next);
  }

  // -- where one is

  /** Show a page; the one after the last is the end of the chapter. */
  show(at, { isNew = true } = {}) {
    this.page = Math.min(Math.max(at, 0), this.count);
    if (this.isPaged) {
      this.turn(this.page);
      scrollTo({ top: 0, behavior: "instant" });
    } else {
      for (const sheet of [...this.sheets, this.ending]) sheet.classList.remove("current", "second");
      if (isNew || this.page > 0) (this.sheets[this.page] ?? this.ending).scrollIntoView({ block: "start", behavior: "instant" });
    }
    this.seen(this.page);
  }

  turn(at) {
    const seen = this.spreads.find((spread) => spread.includes(at)) ?? [];
    this.sheets.forEach((sheet, place) => {
      sheet.classList.toggle("current", seen.includes(place));
      sheet.classList.toggle("second", seen.length > 1 && seen[1] === place);
    });
    this.ending.classList.toggle("current", at >= this.count);
    this.box.classList.toggle("pair", seen.length > 1);
  }

  seen(at) {
    const spread = this.spreads.find((each) => each.includes(at));
    const last = Math.min(spread ? spread.at(-1) : at, this.count - 1);
    fetchAhead(this.images, Math.min(at, this.count - 1));
    const bar = this.root.querySelector(".how-far");
    bar.value = last + 1;
    this.root.querySelector("[data-pages]").value = String(Math.min(at, this.count - 1));
    this.root.dataset.at = String(at);
    if (at >= this.count) this.endedAt = performance.now();
    this.keep(last);
    this.lookAhead();
    if (at > Number(this.root.dataset.page)) this.root.querySelector(".furthest").hidden = true;
  }

  scrolled() {
    if (this.isPaged || this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      const middle = innerHeight / 2;
      let at = this.sheets.findLastIndex((sheet) => sheet.getBoundingClientRect().top <= middle);
      if (this.ending.getBoundingClientRect().top <= middle || innerHeight + scrollY >= document.documentElement.scrollHeight - 2) at = this.count;
      at = this.upTo(at);
      if (at < 0 || at === this.page) return;
      this.page = at;
      this.seen(at);
    });
  }

  /** Nobody has seen a page that has not come: on the way down, the first such one is where one is. */
  upTo(at) {
    const waited = this.sheets.findIndex((sheet, place) => place >= this.page && place < at && !sheet.matches(".came, :has(.broken)"));
    return waited < 0 ? at : waited;
  }

  offerFurthest() {
    const { page, furthest, read } = this.root.dataset;
    if (read !== undefined || Number(furthest) <= Number(page)) return;
    const offer = this.root.querySelector(".furthest");
    offer.hidden = false;
    offer.querySelector("[data-to-furthest]").addEventListener("click", () => { offer.hidden = true; this.show(Math.min(Number(furthest), this.count - 1)); });
  }

  /** What was read to its end can be marked unread from here on. */
  heard({ is_read: isRead }) {
    if (isRead) this.showRead(true);
  }

  showRead(isRead) {
    const { sayRead, sayUnread } = this.root.dataset;
    const button = this.root.querySelector("[data-mark]");
    button.name = isRead ? "unread" : "read";
    button.querySelector("span").textContent = isRead ? sayUnread : sayRead;
    this.root.querySelector(".is-read").hidden = !isRead;
  }

  async mark(event) {
    event.preventDefault();
    const { name, value } = event.submitter;
    const path = event.target.getAttribute("action");
    const done = await send(path, { [name]: value });
    if (!done) return;
    this.showRead(name === "read");
    toast(saidOf(name === "unread", done.kept), async () => {
      if (await takeBack(path, done)) this.showRead(name !== "read");
    });
  }

  // -- turning

  next() {
    if (this.page >= this.count) return this.root.querySelector("[data-onward]")?.click();
    const spread = this.spreads.find((each) => each.includes(this.page)) ?? [this.page];
    this.show(spread.at(-1) + 1);
  }

  previous() {
    const all = this.spreads;
    const at = this.page >= this.count ? all.length : all.findIndex((each) => each.includes(this.page));
    if (at > 0) this.show(all[at - 1][0]);
  }

  left() { return this.isRtl ? this.next() : this.previous(); }
  right() { return this.isRtl ? this.previous() : this.next(); }

  /** Most of a window down or up; who presses again before it has arrived goes as much further. */
  glide(by) {
    const now = performance.now();
    const from = now - (this.glidedAt ?? -PAUSE) < PAUSE ? this.goal : scrollY;
    const most = document.documentElement.scrollHeight - innerHeight;
    this.glidedAt = now;
    this.goal = Math.min(Math.max(from + by * innerHeight * 0.85, 0), most);
    scrollTo({ top: this.goal });
  }

  /** Further down while there is more of the page below, then the next page. Who hurries does not hurry past the end. */
  onward() {
    const below = document.documentElement.scrollHeight - innerHeight - scrollY;
    if (below > 2) return this.glide(1);
    if (this.page >= this.count && performance.now() - this.endedAt < PAUSE) return;
    this.next();
  }

  // -- what people do

  bindKeys() {
    const { dataset } = this.root;
    bind("ArrowLeft", dataset.sayLeft, () => this.left());
    bind("ArrowRight", dataset.sayRight, () => this.right());
    bind("Space", dataset.sayNext, () => this.onward());
    bind("Home", dataset.sayFirst, () => this.show(0));
    bind("End", dataset.sayLast, () => this.show(this.count - 1));
    document.addEventListener("keydown", (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (event.key === " " && !event.target.closest("a, button, summary, select, input, textarea")) {
        event.preventDefault();
        if (event.shiftKey) this.previous();
        else this.onward();
      } else if (event.key === "Escape") {
        this.leave(event);
      }
    });
  }

  leave(event) {
    const open = this.root.querySelector("details[open]");
    if (open) open.open = false;
    else if (document.fullscreenElement || document.querySelector(":popover-open") || event.target.closest("select")) return;
    else this.root.querySelector(".reader-bar > a").click();
    event.preventDefault();
  }

  listen() {
    const { root } = this;
    root.querySelector("[data-modes]").addEventListener("change", (event) => this.choose({ mode: event.target.value }));
    root.querySelector("[data-fits]").addEventListener("change", (event) => this.choose({ fit: event.target.value }));
    root.querySelector("[data-pages]").addEventListener("change", (event) => { event.target.blur(); this.show(Number(event.target.value)); });
    root.querySelector("[data-chapters]")?.addEventListener("change", (event) => { location.href = event.target.value; });
    root.querySelector("[data-mark]").form.addEventListener("submit", (event) => this.mark(event));
    small.addEventListener("change", () => this.placeSteps());
    this.placeSteps();
    root.querySelector("[data-release]")?.addEventListener("change", (event) => event.target.form.requestSubmit());
    const full = root.querySelector("[data-full]");
    full.hidden = !document.fullscreenEnabled;  // some phones have none
    full.addEventListener("click", () => (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen().catch(() => {})));
    this.box.addEventListener("click", (event) => this.tapped(event));
    let from = null;
    this.box.addEventListener("touchstart", (event) => { from = event.touches.length === 1 ? event.touches[0] : null; }, { passive: true });
    this.box.addEventListener("touchend", (event) => {
      const to = event.changedTouches[0];
      if (!from || !this.isPaged || (window.visualViewport?.scale ?? 1) > 1.05) return;
      const [x, y] = [to.clientX - from.clientX, to.clientY - from.clientY];
      if (Math.abs(x) > SWIPE && Math.abs(x) > 2 * Math.abs(y)) (x < 0 ? this.right() : this.left());
    }, { passive: true });
  }

  /** On a phone the way to other chapters is at the bottom, where there is room and a thumb. */
  placeSteps() {
    const steps = this.root.querySelector(".chapter-steps");
    this.root.querySelector(small.matches ? ".reader-foot" : ".reader-tools").prepend(steps);
  }

  /** The sides turn, the middle hides what stands around the pages. */
  tapped(event) {
    if (event.target.closest("a, button, .ending, .broken") || String(getSelection())) return;
    const [place, whole] = this.isPaged ? [event.clientX, innerWidth] : [event.clientY, innerHeight];
    if (place < whole / 3) this.isPaged ? this.left() : this.glide(-1);
    else if (place > (whole * 2) / 3) this.isPaged ? this.right() : this.glide(1);
    else document.body.classList.toggle("bare");
  }
}

const root = document.querySelector("[data-reader]");
if (root?.querySelector(".sheet")) new Reader(root).start();
else root?.querySelector("[data-chapters]")?.addEventListener("change", (event) => { location.href = event.target.value; });
