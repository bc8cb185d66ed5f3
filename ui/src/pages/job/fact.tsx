/** One fact with its name. */

import type { ReactNode } from "react";

export function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="min-w-0 max-sm:grid max-sm:grid-cols-[6rem_minmax(0,1fr)] max-sm:gap-x-3">
      <dt className="text-xs font-medium text-ink-3 max-sm:leading-5">{label}</dt>
      <dd className="min-w-0 break-words text-sm sm:mt-0.5">{children}</dd>
    </div>
  );
}
