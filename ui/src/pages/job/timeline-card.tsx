/** A job's life drawn to scale. */

import { cx } from "@/components/cx";
import { Card } from "@/components/layout";
import type { Happening } from "@/lib/happenings";
import type { JobView } from "@/lib/records";
import { formatAbsolute, formatDuration } from "@/lib/time";
import { drawToScale, type Piece, type Span, type SpanKind, totalsOf } from "@/lib/timeline";
import { useSpans } from "./use-spans";

const STRIPES =
  "bg-warn-soft bg-[repeating-linear-gradient(135deg,color-mix(in_srgb,currentColor_55%,transparent)_0_1.5px,transparent_1.5px_7px)]";
const DOTS = "bg-[radial-gradient(currentColor_1px,transparent_1px)] bg-size-[6px_6px] opacity-50";
const LOOKS: Record<SpanKind, { word: string; fill: string }> = {
  waiting: { word: "Waiting", fill: "bg-pending opacity-45" },
  scheduled: { word: "Scheduled", fill: "bg-scheduled opacity-45" },
  running: { word: "Running", fill: "bg-active" },
  backoff: { word: "Backoff", fill: `${STRIPES} text-warn` },
  held: { word: "Held", fill: "bg-held opacity-60" },
  ended: { word: "Ended", fill: `${DOTS} text-ink-3` },
  unknown: { word: "Not known any more", fill: `${DOTS} text-ink-3` },
};
const IN_LEGEND: SpanKind[] = ["scheduled", "waiting", "running", "backoff", "held", "unknown"];

export function TimelineCard({ job, events }: { job: JobView; events: Happening[] | undefined }) {
  const spans = useSpans(job, events);
  const { pieces, ticks } = drawToScale(spans);
  const totals = totalsOf(spans);
  const first = spans[0];
  const last = spans.at(-1);
  if (first === undefined || last === undefined) return null;
  const ahead = last.isAhead ? last.to - last.from : 0;
  return (
    <Card title="Timeline" about={`${formatDuration(last.to - ahead - first.from)} in all, drawn to scale`}>
      <div className="relative h-7 overflow-hidden rounded-md bg-sunken">
        {pieces.map((piece) => (
          <Bar key={`${piece.span.kind}${piece.span.from}${piece.span.isAhead}`} piece={piece} />
        ))}
      </div>
      <div aria-hidden="true" className="relative h-6 text-xs text-ink-3">
        {ticks.map((tick) => (
          <span
            key={tick.left}
            className={cx(
              "absolute top-0 whitespace-nowrap border-line-strong border-l pt-1.5 max-sm:nth-[2n]:hidden",
              tick.left > 0.9 ? "-translate-x-full border-r border-l-0 pr-1" : "pl-1",
            )}
            style={{ left: `${tick.left * 100}%` }}
          >
            {tick.label}
          </span>
        ))}
      </div>
      <ul className="mt-2 flex flex-wrap gap-x-5 gap-y-1 text-sm">
        {IN_LEGEND.filter((kind) => totals.has(kind)).map((kind) => (
          <li key={kind} className="inline-flex items-center gap-2">
            <span aria-hidden="true" className="relative size-3 overflow-hidden rounded-[3px] bg-sunken">
              <span className={cx("absolute inset-0", LOOKS[kind].fill)} />
            </span>
            <span className="text-ink-2">{LOOKS[kind].word}</span>
            <b className="font-semibold">{formatDuration(totals.get(kind)!)}</b>
          </li>
        ))}
        {ahead > 0 && <li className="text-ink-3">due in {formatDuration(ahead)}</li>}
      </ul>
    </Card>
  );
}

function Bar({ piece: { span, left, width, isCut } }: { piece: Piece }) {
  return (
    <span
      role="img"
      aria-label={wordsOf(span)}
      title={wordsOf(span)}
      className={cx("absolute inset-y-0 min-w-[3px]", span.isAhead && "opacity-40")}
      style={{ left: `min(${left * 100}%, calc(100% - 3px))`, width: `${width * 100}%` }}
    >
      <span className={cx("absolute inset-0 border-surface border-r", LOOKS[span.kind].fill)} />
      {isCut && (
        <span className="absolute inset-0 flex items-center justify-center overflow-hidden text-xs text-ink-2">
          <svg width="10" height="14" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
            <path d="M1 13 5 1M5 13 9 1" />
          </svg>
        </span>
      )}
      {span.kind === "running" && width > 0.12 && (span.attempt ?? 0) > 0 && (
        <span className="absolute inset-0 truncate px-2 font-medium text-surface text-xs leading-7">
          Attempt {span.attempt}
        </span>
      )}
    </span>
  );
}

function wordsOf(span: Span): string {
  const what = [
    span.isAhead ? `${LOOKS[span.kind].word}, still to come` : LOOKS[span.kind].word,
    span.attempt ? `attempt ${span.attempt}` : null,
    span.worker ? `by ${span.worker}` : null,
  ];
  const when = span.isOpen ? `since ${formatAbsolute(span.from)}` : `from ${formatAbsolute(span.from)}`;
  return `${what.filter(Boolean).join(", ")}: ${formatDuration(span.to - span.from)} ${when}`;
}
