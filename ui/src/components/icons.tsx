/** Our own small set of icons: 16 px, drawn with lines, hidden from readers unless they stand alone with a label. */

import type { SVGProps } from "react";

const PATHS = {
  overview: "M2.5 2.5h4.5v5h-4.5zM9 2.5h4.5v3H9zM9 7.5h4.5v6H9zM2.5 9.5h4.5v4h-4.5z",
  queues: "M2.5 4h11M2.5 8h11M2.5 12h7",
  jobs: "M3 5.5h10v8H3zM6 5.5v-2h4v2M3 9h10",
  dead: "M8 2.5 14 13H2zM8 6.5v3M8 11.3v.2",
  held: "M5 7.5V3.7a1 1 0 0 1 2 0V7m0-.5V3a1 1 0 0 1 2 0v4m0-2.8a1 1 0 0 1 2 0V10c0 2.2-1.5 3.8-3.8 3.8-1.8 0-2.7-.8-3.6-2.3L2.2 9.3a1 1 0 0 1 1.7-1L5 9.6V7",
  schedules: "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2zM8 5v3.2l2.2 1.4",
  workers:
    "M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14",
  webhooks:
    "M6.5 9.5 9.5 6.5M7 4.8l1.4-1.4a2.9 2.9 0 0 1 4.2 4.2L11.2 9M9 11.2l-1.4 1.4a2.9 2.9 0 0 1-4.2-4.2L4.8 7",
  settings:
    "M2.5 4.5h6M11.5 4.5h2M2.5 8h2M7.5 8h6M2.5 11.5h5M10.5 11.5h3M8.5 3v3h3V3zM4.5 6.5v3h3v-3zM7.5 10v3h3v-3z",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.3 10.3 13.5 13.5",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5 6.5 12 13 4.5",
  minus: "M4 8h8",
  chevronDown: "M4 6l4 4 4-4",
  chevronRight: "M6 4l4 4-4 4",
  chevronLeft: "M10 4 6 8l4 4",
  arrowUp: "M8 13V3M4 7l4-4 4 4",
  arrowDown: "M8 3v10M4 9l4 4 4-4",
  play: "M5 3.2v9.6L12.5 8z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  drain: "M8 2v6.5M5 6l3 3 3-3M3 10v3h10v-3",
  clear: "M6 3.5h7.5v9H6L2.2 8zM8 6.2l3.6 3.6M11.6 6.2 8 9.8",
  trash: "M3 4.5h10M6 4.5v-2h4v2M4.2 4.5l.6 9h6.4l.6-9M6.8 7v4M9.2 7v4",
  retry: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
  cancel: "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2zM4 12 12 4",
  move: "M2.5 8h9M8 4.5 11.5 8 8 11.5M13.8 3v10",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  edit: "M3 13l.6-2.8 7.3-7.3 2.2 2.2-7.3 7.3zM9.5 4.3l2.2 2.2",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  sun: "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6zM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  moon: "M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z",
  system: "M2.5 3.5h11v7h-11zM6 13.5h4M8 10.5v3",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  help: "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2zM6.3 6.4a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.9.6-.9 1.2M8 11.2v.1",
  filter: "M2.5 3.5h11L9.5 8.5v4l-3 1v-5z",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  external: "M9 2.5h4.5V7M13.3 2.7 7.5 8.5M11.5 9.5v4h-9v-9h4",
  key: "M5.2 7.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6zM7.3 8 13 2.5M10.5 5l2 2",
  clock: "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2zM8 5v3.2l2.2 1.4",
  gauge: "M2.6 11.5a5.8 5.8 0 1 1 10.8 0M8 9.5l2.6-3.3",
  info: "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2zM8 7.3v3.9M8 4.9v.1",
  warning: "M8 2.5 14 13H2zM8 6.5v3M8 11.3v.2",
  download: "M8 2.5v7.5M4.8 7 8 10.2 11.2 7M3 13.5h10",
  star: "M8 2.2l1.8 3.7 4 .6-2.9 2.8.7 4L8 11.4l-3.6 1.9.7-4L2.2 6.5l4-.6z",
  bookmark: "M4.5 2.5h7v11L8 10.8 4.5 13.5z",
  send: "M2.5 7.5 13.5 2.5 9.5 13.5 7.5 9z",
  split: "M8 13.5V9M8 9 4 5V2.5M8 9l4-4V2.5",
  lock: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  up: "M4 10l4-4 4 4",
} as const;

export type IconName = keyof typeof PATHS;

/** An icon in the colour of the text around it. */
export function Icon({
  name,
  size = 16,
  ...rest
}: { name: IconName; size?: number } & SVGProps<SVGSVGElement>) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === "more" ? 2.2 : 1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
      {...rest}
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The rook. */
export function Rook({ size = 26 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#3b4cca" />
      <path
        fill="#fff"
        d="M6 13.2 13.4 9.6a6.6 6.6 0 0 1 9.2 6v1.2l3.4 5.4h-3.6l-1.6-1.6c-1.3 2-3.6 3.2-6.2 3.2-1 0-1.9-.2-2.8-.5l4-2.9c-2.9-.2-5-2.5-5-5.4v-1.3z"
      />
      <circle cx="16.6" cy="13.6" r="1.3" fill="#3b4cca" />
    </svg>
  );
}
