// Before anything is drawn, so that nobody who chose the dark sees a flash of light.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("rookery.theme");
  } catch {}
  const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
