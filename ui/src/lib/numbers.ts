/** Numbers as people read them. */

const whole = new Intl.NumberFormat("en-US");

/** `1,203`: every digit. */
export function formatCount(value: number): string {
  return whole.format(value);
}

/** `10,000+` if there are more than were counted. */
export function formatTotal(total: number, isPartial: boolean): string {
  return formatCount(total) + (isPartial ? "+" : "");
}

const STEPS: [number, string][] = [
  [1e9, "B"],
  [1e6, "M"],
  [1e3, "k"],
];

/** `12.4k`: short, rounded down, so that nothing seems more than it is. */
export function formatShort(value: number): string {
  const size = Math.abs(value);
  if (size < 10_000) return formatCount(Math.round(value));
  for (const [step, sign] of STEPS) {
    if (size >= step) {
      const scaled = value / step;
      const digits = Math.abs(scaled) < 100 ? 1 : 0;
      return `${(Math.trunc(scaled * 10 ** digits) / 10 ** digits).toFixed(digits).replace(/\.0$/, "")}${sign}`;
    }
  }
  return formatCount(value);
}

/** `124/min`, `0.3/min`. */
export function formatRate(perMinute: number): string {
  if (perMinute > 0 && perMinute < 10) return `${(Math.round(perMinute * 10) / 10).toString()}/min`;
  return `${formatShort(Math.round(perMinute))}/min`;
}

/** `4.2%`; anything above nothing is never shown as nothing. */
export function formatShare(share: number): string {
  if (share === 0) return "0%";
  if (share < 0.001) return "<0.1%";
  const percent = share * 100;
  return `${percent < 10 ? (Math.round(percent * 10) / 10).toString() : Math.round(percent)}%`;
}

/** `1 job`, `2 jobs`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** `4.3 MB`. */
export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
