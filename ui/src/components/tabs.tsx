/** Tabs whose choice is in the address. Arrow keys move between them. */

import { type KeyboardEvent, type ReactNode, useId } from "react";
import { cx } from "./cx";

export interface Tab {
  id: string;
  label: string;
  count?: ReactNode;
}

export function Tabs({
  label,
  tabs,
  chosen,
  onChoose,
  children,
}: {
  label: string;
  tabs: Tab[];
  chosen: string;
  onChoose: (id: string) => void;
  children: ReactNode;
}) {
  const base = useId();
  function move(event: KeyboardEvent<HTMLDivElement>) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = tabs.findIndex((tab) => tab.id === chosen);
    const next = tabs.at((at + step) % tabs.length)!;
    onChoose(next.id);
    document.getElementById(`${base}-${next.id}`)?.focus();
  }
  return (
    <>
      <div
        role="tablist"
        aria-label={label}
        onKeyDown={move}
        className="flex gap-1 overflow-x-auto border-line border-b px-1.5 [scrollbar-width:none]"
      >
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${base}-${tab.id}`}
            aria-selected={tab.id === chosen}
            aria-controls={`${base}-panel`}
            tabIndex={tab.id === chosen ? 0 : -1}
            onClick={() => onChoose(tab.id)}
            className={cx(
              "-mb-px inline-flex h-9 items-center gap-1.5 pointer-coarse:h-11 whitespace-nowrap border-b-2 px-3 text-sm font-medium outline-offset-[-2px]",
              tab.id === chosen ? "border-accent text-ink" : "border-transparent text-ink-2 hover:text-ink",
            )}
          >
            {tab.label}
            {tab.count !== undefined && <span className="text-xs text-ink-3">{tab.count}</span>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${base}-panel`} aria-labelledby={`${base}-${chosen}`}>
        {children}
      </div>
    </>
  );
}
