/** All keys at a glance. */

import { Kbd } from "@/components/badge";
import { Dialog } from "@/components/dialog";
import type { Shortcut } from "@/lib/shortcuts";

export const IN_TABLES: [string, string][] = [
  ["j", "Next row"],
  ["k", "Previous row"],
  ["Enter", "Open the row"],
  ["x", "Select the row"],
  ["Esc", "Close a dialog or menu"],
];

export function ShortcutHelp({ close, shortcuts }: { close: () => void; shortcuts: Shortcut[] }) {
  const listed: [string, string][] = shortcuts
    .filter((shortcut) => !["j", "k"].includes(shortcut.keys))
    .map(({ keys, label }) => [keys, label]);
  return (
    <Dialog title="Keyboard shortcuts" close={close} width="medium">
      <div className="grid gap-x-8 sm:grid-cols-2">
        <Keys title="Everywhere" keys={[...listed, ["Ctrl K", "Search and commands"]]} />
        <Keys title="In lists" keys={IN_TABLES} />
      </div>
    </Dialog>
  );
}

export function Keys({ title, keys }: { title: string; keys: [string, string][] }) {
  return (
    <section>
      <h3 className="mt-2 mb-1 text-xs font-medium text-ink-3">{title}</h3>
      <dl className="divide-y divide-line">
        {keys.map(([combination, meaning]) => (
          <div key={combination} className="flex h-9 items-center justify-between gap-4 text-sm">
            <dt>{meaning}</dt>
            <dd className="flex gap-1">
              {combination.split(" ").map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
