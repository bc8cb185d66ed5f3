/** Keys that work everywhere. They rest while one types or a dialog is open. */

import { useEffect } from "react";
import { Chords } from "./chords";

export interface Shortcut {
  /** One key, or two pressed after each other: `g q`. */
  keys: string;
  label: string;
  run: () => void;
}

/** Whether somebody is writing. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("input:not([type=checkbox], [type=radio]), textarea, select"))
  );
}

/** Listen for shortcuts as long as the component lives. */
export function useShortcuts(shortcuts: Shortcut[]): void {
  useEffect(() => {
    const chords = new Chords(new Set(shortcuts.map((shortcut) => shortcut.keys)));
    function press(event: KeyboardEvent) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
      const keys = chords.press(event.key, event.timeStamp);
      const found = shortcuts.find((shortcut) => shortcut.keys === keys);
      if (!found) return;
      event.preventDefault();
      found.run();
    }
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [shortcuts]);
}

/** Go to the next or previous row of the table on the page. */
export function moveRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
  if (rows.length === 0) return;
  const at = rows.indexOf(document.activeElement?.closest<HTMLElement>("[data-row]") ?? document.body);
  const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step));
  rows[next]!.focus();
  rows[next]!.scrollIntoView({ block: "nearest" });
}
