/** A chart over time with a legend that names the values under the pointer. Colours follow the theme. */

import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import { formatCount, formatShort } from "@/lib/numbers";
import { useStore } from "@/lib/store";
import { theme } from "@/lib/theme";
import { formatClock } from "@/lib/time";

export interface Line {
  label: string;
  /** The name of a CSS variable, such as `--accent`. */
  colour: string;
  /** The last value is of a step that is not over yet; the way to it is dashed. */
  values: number[];
  /** Filled below. */
  area?: boolean;
}

const LEAST_HEIGHT = 208;
/** What is counted is whole, and so are the lines behind it. */
const STEPS = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

export function Chart({
  label,
  times,
  lines,
  unit,
}: {
  label: string;
  times: number[];
  lines: Line[];
  unit: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const shade = useStore(theme).shown;
  const shape = JSON.stringify([shade, lines.map(({ label, colour, area }) => [label, colour, area])]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the values are set below, without drawing all anew
  useEffect(() => {
    const parent = box.current!;
    const size = () => ({
      width: Math.max(1, parent.clientWidth),
      height: Math.max(LEAST_HEIGHT, parent.clientHeight),
    });
    const drawn = new uPlot({ ...size(), ...options(lines, setAt) }, data(times, lines), parent);
    plot.current = drawn;
    const watch = new ResizeObserver(() => drawn.setSize(size()));
    watch.observe(parent);
    return () => {
      watch.disconnect();
      drawn.destroy();
      plot.current = null;
    };
  }, [shape]);

  useEffect(() => {
    plot.current?.setData(data(times, lines));
  }, [times, lines]);

  const shown = at !== null && at < times.length ? at : null;
  const summary = lines
    .map((line) => `${formatCount(sum(line.values))} ${line.label.toLowerCase()}`)
    .join(", ");
  return (
    <figure className="m-0 flex h-full flex-col">
      <figcaption className="mb-2 flex min-h-5 flex-wrap items-center gap-x-4 gap-y-1 text-xs text-ink-2">
        <span className="sr-only">
          {label}: {summary}.
        </span>
        {lines.map((line) => (
          <span key={line.label} className="inline-flex items-center gap-1.5">
            <span className="size-2 rounded-full" style={{ background: `var(${line.colour})` }} />
            {line.label}
            <b className="font-semibold text-ink">
              {formatShort(shown === null ? sum(line.values) : (line.values[shown] ?? 0))}
            </b>
          </span>
        ))}
        <span className="inline-flex items-center gap-1.5 text-ink-3" title="The last step is not over yet">
          <svg width="14" height="2" aria-hidden="true">
            <path d="M0 1h14" stroke="currentColor" strokeWidth="2" strokeDasharray="3 2.5" />
          </svg>
          not over yet
        </span>
        <span className="ml-auto text-ink-3">
          {shown === null
            ? unit
            : `${shown === times.length - 1 ? "since" : "at"} ${formatClock(times[shown]! * 1000).slice(0, 5)}, ${unit}${shown === times.length - 1 ? " so far" : ""}`}
        </span>
      </figcaption>
      <div
        ref={box}
        aria-hidden="true"
        className="relative flex-1 overflow-hidden"
        style={{ minHeight: LEAST_HEIGHT }}
      />
    </figure>
  );
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function data(times: number[], lines: Line[]): uPlot.AlignedData {
  const last = times.length - 1;
  return [
    times,
    ...lines.flatMap(({ values }) => [
      values.map((value, place) => (place < last ? value : null)),
      values.map((value, place) => (place >= last - 1 ? value : null)),
    ]),
  ];
}

function options(
  lines: Line[],
  onPoint: (at: number | null) => void,
): Omit<uPlot.Options, "width" | "height"> {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--ink-3"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  return {
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { y: { range: (_, __, most) => [0, Math.max(4, most * 1.1)] } },
    axes: [
      {
        ...axis,
        size: 24,
        gap: 6,
        grid: { show: false },
        space: 64,
        values: (_, ticks) => ticks.map((tick) => formatClock(tick * 1000).slice(0, 5)),
      },
      {
        ...axis,
        size: 40,
        gap: 6,
        space: 40,
        incrs: STEPS,
        values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? formatShort(tick) : "")),
      },
    ],
    series: [
      {},
      ...lines.flatMap((line): uPlot.Series[] => [
        {
          label: line.label,
          stroke: colour(line.colour),
          width: 1.75,
          fill: line.area ? `${colour(line.colour)}22` : undefined,
          points: { show: false },
        },
        { label: line.label, stroke: colour(line.colour), width: 1.5, dash: [3, 4], points: { show: false } },
      ]),
    ],
    hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? null)] },
  };
}
