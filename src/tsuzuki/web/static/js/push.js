// Messages to this browser while no page is open: asked for by a click, and taken back with the sign-out.
import { say } from "./say.js";
import { send } from "./send.js";
import { toast } from "./toasts.js";

const PATH = "/notifications/push";
const PATIENCE = 1500;

const worker = () => navigator.serviceWorker.ready;
const subscribed = async () => (await worker()).pushManager.getSubscription();

function fieldsOf(subscription) {
  const { endpoint, keys } = subscription.toJSON();
  return { url: endpoint, p256dh: keys.p256dh, auth: keys.auth };
}

async function turnOn(key, titles) {
  if ((await Notification.requestPermission()) !== "granted") return toast(say("js.push_refused"));
  const registration = await worker();
  await (await registration.pushManager.getSubscription())?.unsubscribe();  // it may know another key of this server
  const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  if (await send(PATH, { ...fieldsOf(subscription), titles: titles ? "on" : "" })) location.reload();
  else await subscription.unsubscribe();
}

async function turnOff() {
  const subscription = await subscribed();
  if (!subscription) return;
  const { url } = fieldsOf(subscription);
  await subscription.unsubscribe();
  await send(`${PATH}/remove`, { url }, { keepalive: true, quiet: true });
}

/** Do it with the button out of reach, and say what went wrong. */
async function by(button, act) {
  button.disabled = true;
  try {
    await act();
  } catch {
    toast(say("js.push_failed"));
  }
  button.disabled = false;
}

async function startSwitch(box) {
  const [on, off] = [box.querySelector("[data-push-on]"), box.querySelector("[data-push-off]")];
  const isOn = Boolean(await subscribed());
  [on.hidden, off.hidden] = [isOn, !isOn];
  box.querySelector(".tick").hidden = isOn;
  box.hidden = false;
  on.addEventListener("click", () => by(on, () => turnOn(box.dataset.push, box.querySelector("input").checked)));
  off.addEventListener("click", () => by(off, async () => {
    await turnOff();
    location.reload();
  }));
}

/** Whoever signs out leaves nothing behind that tells the next one what is new. */
async function startLeaving(form) {
  if (!(await subscribed())) return;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await Promise.race([turnOff().catch(() => {}), new Promise((go) => setTimeout(go, PATIENCE))]);
    form.submit();
  });
}

export function startPush() {
  if (!("serviceWorker" in navigator && "PushManager" in window && "Notification" in window)) return;
  const [box, leaving] = ["[data-push]", "[data-leaving]"].map((which) => document.querySelector(which));
  if (box) startSwitch(box).catch(() => {});
  if (leaving) startLeaving(leaving).catch(() => {});
}
