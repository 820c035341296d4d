// On the page that is shown without a network: go back as soon as there is one.
addEventListener("online", () => location.reload());
