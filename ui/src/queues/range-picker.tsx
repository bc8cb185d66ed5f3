/** How far charts and figures look back; it stands in the address. */

import { Segmented } from "@/components/field";
import { type Range, readRange } from "@/lib/ranges";
import { param, useParams } from "@/lib/url";

/** The range of the page. */
export function useRange(): Range {
  return readRange(param(useParams()[0], "range"));
}

export function RangePicker() {
  const [, change] = useParams();
  return (
    <Segmented<Range>
      label="Range"
      value={useRange()}
      onChange={(chosen) => change({ range: chosen === "1h" ? undefined : chosen })}
      options={[
        ["15m", "15 min"],
        ["1h", "1 hour"],
        ["6h", "6 hours"],
        ["24h", "24 hours"],
      ]}
    />
  );
}
