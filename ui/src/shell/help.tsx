/** All keys at a glance. */

import { Kbd } from "@/components/badge";
import { Dialog } from "@/components/dialog";
import { PLACES } from "./navigation";

type Keys = [combination: string, meaning: string][];

const EVERYWHERE: Keys = [
  ["Ctrl K", "Commands"],
  ["/", "Search"],
  ["e", "Enqueue a job"],
  ["?", "Keyboard shortcuts"],
  ["Esc", "Close a dialog or menu"],
];
const IN_LISTS: Keys = [
  ["j", "Next row"],
  ["k", "Previous row"],
  ["Enter", "Open the row"],
  ["x", "Select the row"],
];

export function ShortcutHelp({ close }: { close: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" close={close} width="medium">
      <AllKeys />
    </Dialog>
  );
}

export function AllKeys() {
  return (
    <div className="grid gap-x-8 sm:grid-cols-2">
      <div>
        <KeyList title="Everywhere" keys={EVERYWHERE} />
        <KeyList title="In lists" keys={IN_LISTS} />
      </div>
      <KeyList title="Go to" keys={PLACES.map(({ keys, label }) => [keys, label])} />
    </div>
  );
}

function KeyList({ title, keys }: { title: string; keys: Keys }) {
  return (
    <section>
      <h3 className="mt-2 mb-1 text-xs font-medium text-ink-3">{title}</h3>
      <dl className="divide-y divide-line">
        {keys.map(([combination, meaning]) => (
          <div key={combination} className="flex h-9 items-center justify-between gap-3 text-sm">
            <dt className="truncate">{meaning}</dt>
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
