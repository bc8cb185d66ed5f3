/** What is known of webhooks: the events they may hear of, how they are doing, and secrets for them. */

import type { WebhookView } from "./records";

/** All events of the timeline, the usual ones first. */
export const EVENTS: [group: string, types: string[]][] = [
  ["Outcomes", ["completed", "failed", "dead", "expired", "cancelled", "rejected"]],
  ["On the way", ["enqueued", "started", "progress", "continued", "promoted", "released", "reclaimed"]],
  [
    "By hand",
    [
      "held",
      "approved",
      "retried",
      "moved",
      "deleted",
      "reprioritized",
      "replaced",
      "rescheduled",
      "restored",
    ],
  ],
];

/** What is called for when nothing else is said. */
export const EVERYTHING = "*";

export type Health = "disabled" | "failing" | "idle" | "good";

/** How it is doing: on, never used, delivering, or not getting through. */
export function healthOf(
  webhook: Pick<WebhookView, "enabled" | "failing_since" | "last_delivery_at">,
): Health {
  if (!webhook.enabled) return "disabled";
  if (webhook.failing_since !== null) return "failing";
  return webhook.last_delivery_at === null ? "idle" : "good";
}

/** Whether an address can be one; the server has the last word. */
export function urlFault(text: string): string | null {
  if (text.trim() === "") return "An address is needed";
  try {
    const url = new URL(text.trim());
    return ["http:", "https:"].includes(url.protocol) && url.hostname
      ? null
      : "It must begin with http:// or https://";
  } catch {
    return "Such as https://example.com/hooks/jobs";
  }
}

/** A long random text, made by the browser. */
export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `whsec_${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
