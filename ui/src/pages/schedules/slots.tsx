/** Fire times: by the clocks of the schedule's zone, and in UTC. */

import { RelativeTime } from "@/components/time";
import { instant } from "@/lib/time";
import { formatSlot, formatSlotUtc, isUtc } from "@/lib/zones";

/** One, in two lines. */
export function Slot({ at, zone }: { at: string; zone: string }) {
  const time = instant(at);
  return (
    <>
      <span className="block">{formatSlot(time, zone)}</span>
      <span className="block text-ink-3 text-xs">
        <RelativeTime at={at} />
        {!isUtc(zone) && ` · ${formatSlotUtc(time, zone)}`}
      </span>
    </>
  );
}

/** Several, as a table. */
export function Slots({ times, zone }: { times: string[]; zone: string }) {
  const cell = "h-8 whitespace-nowrap px-3";
  return (
    <table aria-label="Next fire times" className="w-full text-left text-sm">
      <thead>
        <tr className="border-line border-b text-ink-3 text-xs">
          <th scope="col" className={`${cell} font-medium`}>
            {zone}
          </th>
          {!isUtc(zone) && (
            <th scope="col" className={`${cell} font-medium`}>
              UTC
            </th>
          )}
          <th scope="col" className={`${cell} text-right font-medium max-sm:hidden`}>
            <span className="sr-only">In how long</span>
          </th>
        </tr>
      </thead>
      <tbody className="divide-y divide-line">
        {times.map((at) => (
          <tr key={at}>
            <td className={cell}>{formatSlot(instant(at), zone)}</td>
            {!isUtc(zone) && <td className={`${cell} text-ink-2`}>{formatSlotUtc(instant(at), zone)}</td>}
            <td className={`${cell} text-right text-ink-3 max-sm:hidden`}>
              <RelativeTime at={at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
