/** Small labels: badges, chips that can be taken away, keys of the keyboard. */

import type { ReactNode } from "react";
import { cx } from "./cx";
import { Icon } from "./icons";

export type Tone = "plain" | "accent" | "good" | "warn" | "danger" | "active";

const TONES: Record<Tone, string> = {
  plain: "bg-sunken text-ink-2",
  accent: "bg-accent-soft text-accent",
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  danger: "bg-danger-soft text-danger",
  active: "bg-active-soft text-active",
};

export function Badge({
  tone = "plain",
  title,
  children,
}: {
  tone?: Tone;
  title?: string;
  children: ReactNode;
}) {
  return (
    <span
      title={title}
      className={cx(
        "inline-flex h-5.5 items-center gap-1 whitespace-nowrap rounded-full px-2 text-xs font-medium tracking-normal",
        TONES[tone],
      )}
    >
      {children}
    </span>
  );
}

/** Something chosen; the cross takes it away. */
export function Chip({
  children,
  onRemove,
  onEdit,
  isWrong,
}: {
  children: string;
  onRemove?: () => void;
  onEdit?: () => void;
  isWrong?: boolean;
}) {
  return (
    <span
      className={cx(
        "inline-flex h-6 max-w-[calc(100%-1.5rem)] items-center gap-1 pointer-coarse:h-9 rounded-full border pr-1 pl-2.5 text-xs",
        isWrong ? "border-danger bg-danger-soft text-danger" : "border-line bg-sunken text-ink-2",
      )}
    >
      {onEdit ? (
        <button
          type="button"
          onClick={onEdit}
          title={children}
          aria-label={`Change ${children}`}
          className="min-w-0 truncate rounded hover:text-ink"
        >
          {children}
        </button>
      ) : (
        <span className="truncate" title={children}>
          {children}
        </span>
      )}
      {onRemove && (
        <button
          type="button"
          onClick={onRemove}
          aria-label={`Remove ${children}`}
          className="relative inline-flex size-4.5 items-center pointer-coarse:size-8 pointer-coarse:after:absolute pointer-coarse:after:-inset-1.5 justify-center rounded-full hover:bg-line hover:text-ink"
        >
          <Icon name="close" size={10} />
        </button>
      )}
    </span>
  );
}

/** A tag of a job. */
export function Tag({ name, value }: { name: string; value: string }) {
  return (
    <span
      className="inline-flex min-w-0 max-w-56 items-center rounded-[5px] bg-sunken px-1.5 font-mono text-xs text-ink-2"
      title={`${name}: ${value}`}
    >
      <span className="truncate">
        <span className="text-ink-3">{name}:</span>
        {value}
      </span>
    </span>
  );
}

export function Kbd({ children }: { children: ReactNode }) {
  return (
    <kbd className="inline-flex h-5 min-w-5 items-center justify-center rounded-[5px] border border-line-strong bg-surface px-1 font-sans text-xs text-ink-3">
      {children}
    </kbd>
  );
}
