/** Times as people say them, with the exact ones on hover. */

import { useEffect, useState } from "react";
import { formatAbsolute, formatDuration, formatRelative, instant, nextTick } from "@/lib/time";

/** The time now, looked at again every so many milliseconds. */
export function useNow(every: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/** `2m ago`; on hover the time in one's own zone and in UTC. */
export function RelativeTime({ at, className }: { at: string; className?: string }) {
  const time = instant(at);
  const now = useNow(nextTick(time, Date.now()));
  return (
    <time
      dateTime={at}
      title={`${formatAbsolute(time)}\n${formatAbsolute(time, "UTC")}`}
      className={className}
    >
      {formatRelative(time, now)}
    </time>
  );
}

/** How long it has been since, or until. */
export function Age({ since, className }: { since: string; className?: string }) {
  const time = instant(since);
  const now = useNow(nextTick(time, Date.now()));
  return (
    <time dateTime={since} title={`since ${formatAbsolute(time)}`} className={className}>
      {formatDuration(Math.max(0, Math.floor((now - time) / 1000) * 1000))}
    </time>
  );
}

/** A time in full. */
export function AbsoluteTime({ at }: { at: string }) {
  const time = instant(at);
  return (
    <time dateTime={at} title={formatAbsolute(time, "UTC")}>
      {formatAbsolute(time)}
    </time>
  );
}
