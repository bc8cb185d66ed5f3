/** A payload on one line, cut where it is too long. */

import type { JsonText } from "@/lib/json";

const SHOWN = 240;

export function PayloadLine({ text }: { text: JsonText }) {
  const cut = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
  return <span className="font-mono text-xs text-ink-2">{cut}</span>;
}

/** The end of a job's id: what tells it from its neighbours. */
export function shortId(id: string): string {
  return /^job_[0-9A-Z]{26}$/.test(id) ? `job_…${id.slice(-8)}` : id.length > 24 ? `${id.slice(0, 22)}…` : id;
}
