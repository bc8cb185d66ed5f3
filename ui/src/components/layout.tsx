/** The parts pages are made of: the page with its heading, cards with theirs, figures with their labels. */

import { type ReactNode, useEffect } from "react";
import { cx } from "./cx";

/** On a phone a choice or a field beside a heading goes below it and takes all the width. */
const WIDE_CHOICE =
  "max-sm:has-[input]:ml-0 max-sm:has-[input]:w-full max-sm:has-[select]:w-full max-sm:[&>div:has(select)]:w-full max-sm:[&>fieldset]:flex-1";

/** A page. Its title is also the window's. */
export function Page({
  title,
  heading,
  about,
  actions,
  children,
}: {
  title: string;
  heading?: ReactNode;
  about?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Rookery`;
  }, [title]);
  return (
    <div className="mx-auto flex w-full max-w-[1440px] flex-col gap-4 px-4 py-5 sm:px-6 lg:px-8 lg:py-6">
      <header className="flex flex-wrap items-center gap-x-4 gap-y-3">
        <div className="min-w-0 flex-1 basis-64">
          {/* Some letters reach out of their box on the left and would be cut. */}
          <h1 className="-mx-1 truncate px-1 text-xl font-semibold tracking-tight" tabIndex={-1}>
            {heading ?? title}
          </h1>
          {about && <div className="mt-0.5 text-sm text-ink-2">{about}</div>}
        </div>
        {actions && (
          <div className={cx("flex flex-wrap items-center gap-2 print:hidden", WIDE_CHOICE)}>{actions}</div>
        )}
      </header>
      {children}
    </div>
  );
}

/** A card with a heading; `flush` lets a table reach its edges. */
export function Card({
  title,
  about,
  actions,
  flush,
  className,
  children,
}: {
  title?: ReactNode;
  about?: ReactNode;
  actions?: ReactNode;
  flush?: boolean;
  className?: string;
  children: ReactNode;
}) {
  return (
    <section className={cx("card flex min-w-0 flex-col", className)}>
      {(title || actions) && (
        <header className="flex min-h-12 flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
          {title && <h2 className="font-semibold">{title}</h2>}
          {about && <span className="text-sm text-ink-3">{about}</span>}
          {actions && (
            <div className={cx("ml-auto flex flex-wrap items-center gap-2", WIDE_CHOICE)}>{actions}</div>
          )}
        </header>
      )}
      <div
        className={cx("min-h-0 flex-1", flush ? "" : "px-4 pb-4", !(title || actions) && !flush && "pt-4")}
      >
        {children}
      </div>
    </section>
  );
}

/** A figure with its label, and what there is to say about it. */
export function Figure({
  label,
  value,
  note,
  tone,
  title,
}: {
  label: ReactNode;
  value: ReactNode;
  note?: ReactNode;
  tone?: "danger" | "warn" | "good";
  title?: string;
}) {
  const colour =
    tone === "danger" ? "text-danger" : tone === "warn" ? "text-warn" : tone === "good" ? "text-good" : "";
  return (
    <div className="min-w-0 px-4 py-3" title={title}>
      <dt className="truncate text-xs font-medium text-ink-3">{label}</dt>
      <dd className={cx("mt-1 truncate text-xl font-semibold tracking-tight", colour)}>{value}</dd>
      {note && <dd className="truncate text-xs text-ink-3">{note}</dd>}
    </div>
  );
}

/** Figures side by side, with hairlines between them. */
export function Figures({ children, className }: { children: ReactNode; className?: string }) {
  return (
    <dl
      className={cx(
        "card grid grid-cols-2 overflow-hidden *:-mb-px *:-ml-px *:border-b *:border-l *:border-line",
        className,
      )}
    >
      {children}
    </dl>
  );
}
