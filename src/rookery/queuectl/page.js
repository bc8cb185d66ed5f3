"use strict";
// The server makes the page; this only fetches it again, so that it stays true, and sends what a button asks for.
const EVERY = 2000;

async function refresh() {
  try {
    const answer = await fetch("/", { cache: "no-store" });
    if (!answer.ok) return;
    const page = await answer.text();
    const body = page.slice(page.indexOf("<main>"), page.indexOf("</main>"));
    const next = new DOMParser().parseFromString(body, "text/html").querySelector("main");
    if (document.getSelection().type === "Range") return;
    const focused = document.activeElement?.closest("form")?.getAttribute("action");
    const parts = [...document.querySelector("main").children];
    for (const [n, part] of [...next.children].entries()) {
      if (part.outerHTML !== parts[n].outerHTML) parts[n].replaceWith(part);
    }
    if (focused) document.querySelector(`form[action="${CSS.escape(focused)}"] button`)?.focus();
  } catch {
    // The server is gone; it may come back.
  }
}

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  form.querySelector("button").disabled = true;
  await fetch(form.action, { method: "POST" }).catch(() => undefined);
  await refresh();
});
document.addEventListener("visibilitychange", () => document.hidden || refresh());
setInterval(() => document.hidden || refresh(), EVERY);
