/** The keys, to read at leisure. */

import { Card } from "@/components/layout";
import { IN_TABLES, Keys } from "@/shell/help";
import { PLACES } from "@/shell/navigation";

const EVERYWHERE: [string, string][] = [
  ["Ctrl K", "Search and commands"],
  ["/", "Search"],
  ["e", "Enqueue a job"],
  ["?", "All shortcuts"],
];

export function Shortcuts() {
  return (
    <Card title="Keyboard">
      <div className="-mt-2 grid gap-x-8 sm:grid-cols-2">
        <div>
          <Keys title="Everywhere" keys={EVERYWHERE} />
          <Keys title="In lists" keys={IN_TABLES} />
        </div>
        <Keys title="Go to" keys={PLACES.map((place): [string, string] => [place.keys, place.label])} />
      </div>
    </Card>
  );
}
