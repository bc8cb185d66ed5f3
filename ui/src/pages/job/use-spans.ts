/** A job's life until now; it grows while the job has not ended. */

import { useMemo } from "react";
import { useNow } from "@/components/time";
import type { Happening } from "@/lib/happenings";
import type { JobView } from "@/lib/records";
import { HOUR, SECOND } from "@/lib/time";
import { type Span, spansOf } from "@/lib/timeline";

const ENDED = ["completed", "dead", "cancelled"];

export function useSpans(job: JobView, events: Happening[] | undefined): Span[] {
  const now = useNow(ENDED.includes(job.state) ? HOUR : SECOND);
  return useMemo(() => spansOf(job, events ?? [], now), [job, events, now]);
}
