/** Names and values, one below the other. */

import type { ReactNode } from "react";

export function Facts({ children }: { children: ReactNode }) {
  return <dl className="divide-y divide-line border-line border-t">{children}</dl>;
}

export function Fact({ label, note, children }: { label: string; note?: string; children: ReactNode }) {
  return (
    <div className="flex min-h-10 flex-wrap items-center justify-between gap-x-4 px-4 py-2 text-sm">
      <dt className="text-ink-2">
        {label}
        {note && <span className="block text-ink-3 text-xs">{note}</span>}
      </dt>
      <dd className="min-w-0 break-words text-right font-medium">{children}</dd>
    </div>
  );
}
