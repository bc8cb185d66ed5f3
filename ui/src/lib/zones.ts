/** Times by the clocks of other places. */

/** All zones that the browser knows, `UTC` first. */
export function knownZones(): string[] {
  return ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];
}

/** The zone of whoever looks. */
export function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Whether two zones show the same time now: then one of them is enough. */
export function isUtc(zone: string): boolean {
  return ["UTC", "Etc/UTC", "Etc/GMT", "Etc/UCT", "Zulu", "GMT"].includes(zone);
}

/** `Mon 16 Nov, 03:00 GMT+1`; a zone that the browser does not know is shown as UTC. */
export function formatSlot(at: number, zone: string): string {
  const parts = partsOf(at, zone) ?? partsOf(at, "UTC")!;
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? "";
  return `${part("weekday")} ${part("day")} ${part("month")}, ${part("hour")}:${part("minute")} ${part("timeZoneName")}`;
}

/** `03:00 UTC`, with the day in front if it is another one there. */
export function formatSlotUtc(at: number, zone: string): string {
  const [here, there] = [formatSlot(at, zone), formatSlot(at, "UTC")];
  const [day, clock] = there.split(", ") as [string, string];
  return here.startsWith(`${day},`) ? clock : there;
}

function partsOf(at: number, zone: string): Intl.DateTimeFormatPart[] | null {
  try {
    return new Intl.DateTimeFormat("en-GB", {
      weekday: "short",
      day: "numeric",
      month: "short",
      hour: "2-digit",
      minute: "2-digit",
      timeZone: zone,
      timeZoneName: "short",
    }).formatToParts(at);
  } catch {
    return null;
  }
}
