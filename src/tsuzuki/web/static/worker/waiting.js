// On the page that is shown without a network, or while the server rests: go back as soon as it answers.
const EVERY = 4000;

async function look() {
  const answer = await fetch("/healthz", { cache: "no-store" }).catch(() => null);
  if (answer?.ok) location.reload();
}

addEventListener("online", look);
setInterval(look, EVERY);
