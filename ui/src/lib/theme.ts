/** Light or dark: what was chosen, or what the system says. */

import { lasting } from "./keep";
import { createStore } from "./store";

export type Choice = "light" | "dark" | "system";

const system = matchMedia("(prefers-color-scheme: dark)");

function chosen(): Choice {
  const kept = lasting.get("theme");
  return kept === "light" || kept === "dark" ? kept : "system";
}

function resolve(choice: Choice): { choice: Choice; shown: "light" | "dark" } {
  return { choice, shown: choice === "system" ? (system.matches ? "dark" : "light") : choice };
}

export const theme = createStore(resolve(chosen()));

theme.subscribe(() => {
  document.documentElement.dataset.theme = theme.get().shown;
});
system.addEventListener("change", () => theme.set(resolve(theme.get().choice)));

/** Choose, and remember it. */
export function chooseTheme(choice: Choice): void {
  lasting.set("theme", choice === "system" ? null : choice);
  theme.set(resolve(choice));
}
