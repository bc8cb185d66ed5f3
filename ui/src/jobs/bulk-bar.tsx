/** What can be done to the jobs that are selected: some of this page, or all that match. */

import { Button } from "@/components/button";
import { Menu } from "@/components/menu";
import type { BulkAction } from "@/lib/endpoints";
import { formatCount, plural } from "@/lib/numbers";
import { DEEDS } from "./actions";

export interface Chosen {
  ids: ReadonlySet<string>;
  /** Everything that matches, on whatever page. */
  all: boolean;
}

export const NONE: Chosen = { ids: new Set(), all: false };

const FIRST: BulkAction[] = ["retry", "delete"];
const REST: BulkAction[] = ["move", "change_priority", "cancel", "hold", "approve", "reject", "requeue"];
const WORDS: Partial<Record<BulkAction, string>> = {
  move: "Move to queue…",
  change_priority: "Change priority…",
  requeue: "Requeue, keep attempts",
};

export function BulkBar({
  chosen,
  shown,
  total,
  many,
  onAct,
  onChoose,
}: {
  chosen: Chosen;
  shown: number;
  total: number;
  /** The total in words. */
  many: string;
  onAct: (action: BulkAction) => void;
  onChoose: (chosen: Chosen) => void;
}) {
  const count = chosen.all ? total : chosen.ids.size;
  if (count === 0) return null;
  return (
    <div
      role="region"
      aria-label="Bulk actions"
      className="sticky top-12 z-10 flex flex-wrap items-center gap-2 border-line border-y bg-accent-soft px-4 py-2 text-sm"
    >
      <p className="mr-auto min-w-0" aria-live="polite">
        <b className="font-semibold">{chosen.all ? `All ${many}` : formatCount(count)}</b>{" "}
        {chosen.all
          ? "matching jobs selected"
          : plural(count, "job selected", "jobs selected").replace(/^\S+ /, "")}
        {!chosen.all && total > shown && chosen.ids.size >= shown && (
          <button
            type="button"
            className="link ml-2 font-medium"
            onClick={() => onChoose({ ...chosen, all: true })}
          >
            Select all {many} matching
          </button>
        )}
        <button type="button" className="link ml-2" onClick={() => onChoose(NONE)}>
          Clear
        </button>
      </p>
      {FIRST.map((action) => (
        <Button key={action} small icon={DEEDS[action].icon} onClick={() => onAct(action)}>
          {DEEDS[action].verb}
        </Button>
      ))}
      <Menu
        label="More actions"
        small
        items={REST.map((action) => ({
          label: WORDS[action] ?? DEEDS[action].verb,
          icon: DEEDS[action].icon,
          danger: DEEDS[action].danger,
          onSelect: () => onAct(action),
        }))}
      />
    </div>
  );
}
