/** Times and durations in words. Pure: whoever calls says what time it is. */

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** How long, in at most two units: `850ms`, `4.2s`, `12m 5s`, `4h 22m`, `3d 4h`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms < 1) return ms === 0 ? "0ms" : "<1ms";
  if (ms < SECOND) return `${Math.round(ms)}ms`;
  if (ms < 10 * SECOND) return `${(Math.floor(ms / 100) / 10).toString()}s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)}s`;
  if (ms < HOUR) return pair(ms, MINUTE, "m", SECOND, "s");
  if (ms < DAY) return pair(ms, HOUR, "h", MINUTE, "m");
  return pair(ms, DAY, "d", HOUR, "h");
}

function pair(ms: number, large: number, one: string, small: number, other: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)}${one}${rest ? ` ${rest}${other}` : ""}`;
}

/** How long ago, or in how long, in one unit: `just now`, `42s ago`, `in 3h`. */
export function formatRelative(at: number, now: number): string {
  const away = Math.abs(now - at);
  if (away < 2 * SECOND) return at > now ? "now" : "just now";
  const unit: [number, string] =
    away < MINUTE ? [SECOND, "s"] : away < HOUR ? [MINUTE, "m"] : away < DAY ? [HOUR, "h"] : [DAY, "d"];
  const text = `${Math.floor(away / unit[0])}${unit[1]}`;
  return at > now ? `in ${text}` : `${text} ago`;
}

/** When the text of `formatRelative` changes next, in milliseconds from now. */
export function nextTick(at: number, now: number): number {
  const away = Math.abs(now - at);
  if (away < MINUTE) return SECOND;
  if (away < HOUR) return 15 * SECOND;
  return MINUTE;
}

/** A time in full, in a zone: `2026-02-11 10:00:00.124 UTC`. */
export function formatAbsolute(at: number, zone?: string): string {
  const parts = new Intl.DateTimeFormat("en-CA", {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
    hourCycle: "h23",
    timeZone: zone,
    timeZoneName: "short",
  }).formatToParts(at);
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? "";
  return `${part("year")}-${part("month")}-${part("day")} ${part("hour")}:${part("minute")}:${part("second")}.${part("fractionalSecond")} ${part("timeZoneName")}`;
}

/** The clock alone: `10:00:00`, with milliseconds if asked. */
export function formatClock(at: number, { ms = false, zone }: { ms?: boolean; zone?: string } = {}): string {
  return new Intl.DateTimeFormat("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: ms ? 3 : undefined,
    timeZone: zone,
  }).format(at);
}

/** Milliseconds since 1970 of an API time. */
export function instant(text: string): number {
  return Date.parse(text);
}

const UNITS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: SECOND,
  m: MINUTE,
  h: HOUR,
  d: DAY,
};

/** Milliseconds of an API duration such as `1h30m` or `82.9us`; null if it is none. */
export function parseDuration(text: string): number | null {
  const parts = [...text.trim().matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join("") !== text.trim()) return null;
  return parts.reduce((sum, part) => sum + Number(part[1]) * UNITS[part[2]!]!, 0);
}

/** Short times with more digits than elsewhere. */
export function formatFine(duration: string | null | undefined): string {
  const ms = duration ? parseDuration(duration) : null;
  if (ms === null) return "–";
  return ms < 1 ? `${Math.round(ms * 1000)} µs` : ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
}
