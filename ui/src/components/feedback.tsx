/** What is shown when there is nothing yet, nothing at all, or something wrong. */

import type { ReactNode } from "react";
import { ApiError, messageOf } from "@/lib/api";
import { Button } from "./button";
import { cx } from "./cx";
import { Icon, type IconName } from "./icons";

/** A grey shape where something will be. */
export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden="true" className={cx("skeleton inline-block h-3.5 align-middle", className)} />;
}

/** Lines of a table that is being loaded. */
export function SkeletonRows({ rows = 6, columns = 5 }: { rows?: number; columns?: number }) {
  return (
    <div role="status" aria-label="Loading" className="divide-y divide-line">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
        <div key={row} className="flex h-10 items-center gap-6 px-4">
          {Array.from({ length: columns }, (_, column) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
            <Skeleton key={column} className={column === 0 ? "w-40" : "w-16"} />
          ))}
        </div>
      ))}
    </div>
  );
}

/** Nothing here, why that is, and what to do about it. */
export function EmptyState({
  icon = "info",
  title,
  children,
  actions,
}: {
  icon?: IconName;
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <div className="mx-auto flex max-w-xl flex-col items-center px-6 py-12 text-center">
      <span className="mb-3 inline-flex size-10 items-center justify-center rounded-full bg-sunken text-ink-3">
        <Icon name={icon} size={20} />
      </span>
      <p className="font-semibold text-ink">{title}</p>
      {children && <div className="mt-1 w-full text-sm text-ink-2">{children}</div>}
      {actions && <div className="mt-4 flex flex-wrap justify-center gap-2">{actions}</div>}
    </div>
  );
}

/** It did not work; what the server said, and a way to try again. */
export function ErrorState({ error, onRetry, what }: { error: unknown; onRetry?: () => void; what: string }) {
  const status = error instanceof ApiError && error.status > 0 ? ` (${error.status})` : "";
  return (
    <div role="alert" className="mx-auto flex max-w-lg flex-col items-center px-6 py-10 text-center">
      <span className="mb-3 inline-flex size-10 items-center justify-center rounded-full bg-danger-soft text-danger">
        <Icon name="warning" size={20} />
      </span>
      <p className="font-semibold text-ink">{what} could not be loaded</p>
      <p className="mt-1 break-words text-sm text-ink-2">
        {messageOf(error)}
        {status}
      </p>
      {onRetry && (
        <Button className="mt-4" icon="retry" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** In place of a list that is not there yet: it is being loaded, or that did not work. */
export function NotYet({
  what,
  error,
  onRetry,
  rows,
  columns,
}: {
  what: string;
  error: unknown;
  onRetry: () => void;
  rows?: number;
  columns?: number;
}) {
  return error ? (
    <ErrorState what={what} error={error} onRetry={onRetry} />
  ) : (
    <SkeletonRows rows={rows} columns={columns} />
  );
}

const TONES = {
  info: "border-line bg-sunken text-ink-2",
  warn: "border-transparent bg-warn-soft text-warn",
  danger: "border-transparent bg-danger-soft text-danger",
};

/** A remark inside a page or dialog. */
export function Note({ tone = "info", children }: { tone?: keyof typeof TONES; children: ReactNode }) {
  return (
    <div
      role={tone === "danger" ? "alert" : undefined}
      className={cx("flex gap-2 rounded-lg border px-3 py-2 text-sm", TONES[tone])}
    >
      <Icon name={tone === "info" ? "info" : "warning"} className="mt-0.5 shrink-0" />
      <div className="min-w-0 break-words">{children}</div>
    </div>
  );
}

/** How far something is. */
export function Progress({ value, max, label }: { value: number; max: number; label: string }) {
  const share = max > 0 ? Math.min(1, value / max) : 0;
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuenow={value}
      aria-valuemin={0}
      aria-valuemax={max}
      className="h-2 w-full overflow-hidden rounded-full bg-line"
    >
      <div
        className="h-full rounded-full bg-accent transition-[width] duration-300"
        style={{ width: `${share * 100}%` }}
      />
    </div>
  );
}
