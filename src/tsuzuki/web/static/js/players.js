// Players of an article: where one was and how fast stay in this browser; nothing is loaded before somebody plays. Space and the arrows
// are the browser's own while a player has the focus.
import { list, read, write } from "./kept.js";
import { say } from "./say.js";

const PLACES = "places";
const SPEED = "speed";
const SPEEDS = [0.75, 1, 1.25, 1.5, 1.75, 2];
const MOST = 200;
const EVERY = 5000;
const END = 10;  // seconds: whoever stops so close to it has heard it

const places = () => list(PLACES);
const speed = () => (SPEEDS.includes(read(SPEED)) ? read(SPEED) : 1);

function keep(media) {
  const known = media.dataset.plays;
  const others = places().filter(([address]) => address !== known);
  const isOver = media.ended || media.duration - media.currentTime < END;
  if (!isOver && media.currentTime > 1) others.push([known, Math.floor(media.currentTime)]);
  write(PLACES, others.slice(-MOST));
}

function goOn(media) {
  const place = places().find(([address]) => address === media.dataset.plays)?.[1];
  if (Number.isFinite(place) && place < media.duration) media.currentTime = place;
}

function speeds(all) {
  const label = document.createElement("label");
  label.className = "player-speed";
  const select = document.createElement("select");
  for (const one of SPEEDS) select.add(new Option(`${one.toLocaleString(navigator.language)}×`, one, false, one === speed()));
  select.addEventListener("change", () => {
    write(SPEED, Number(select.value));
    for (const media of all) media.playbackRate = speed();
    for (const other of document.querySelectorAll(".player-speed select")) other.value = select.value;
  });
  label.append(`${say("js.speed")} `, select);
  return label;
}

function failed(player) {
  if (player.querySelector(".player-failed")) return;
  const line = document.createElement("p");
  line.className = "player-failed";
  line.role = "alert";
  line.textContent = say("js.unplayable");
  player.querySelector(".player-line").prepend(line);
}

function start(player, all) {
  const media = player.querySelector("audio, video");
  if (!media) return;
  let kept = 0;
  media.addEventListener("loadedmetadata", () => { goOn(media); media.playbackRate = speed(); });
  media.addEventListener("timeupdate", () => {
    if (media.paused || Date.now() - kept < EVERY) return;
    kept = Date.now();
    keep(media);
  });
  for (const kind of ["pause", "ended"]) media.addEventListener(kind, () => keep(media));
  media.addEventListener("play", () => { for (const other of all) if (other !== media) other.pause(); });
  media.addEventListener("error", () => failed(player));
  addEventListener("pagehide", () => { if (!media.paused) keep(media); });
  player.querySelector(".player-line").append(speeds(all));
}

/** Forget what was played: for signing out. */
export const forgetPlaces = () => write(PLACES, null);

export function startPlayers() {
  const players = [...document.querySelectorAll("[data-player]")];
  const all = players.map((player) => player.querySelector("audio, video")).filter(Boolean);
  for (const player of players) start(player, all);
}
