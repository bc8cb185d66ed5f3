/**
 * Pages by key: the server gives a cursor for the next page, and none for the one before.
 * So the cursors on the way are remembered, and the address holds the current one.
 */

import { Button } from "@/components/button";
import { formatCount, formatTotal } from "@/lib/numbers";
import { param, useParams } from "@/lib/url";

export const PAGE_SIZES = [25, 50, 100, 250];

/** From a cursor to the one before it. */
const before = new Map<string, string>();

/** Where in the list one is. Set `cursor: ""` and `page: ""` whenever the filter changes. */
export function usePage(): { cursor: string; page: number; size: number } {
  const [params] = useParams();
  const size = Number(param(params, "size"));
  return {
    cursor: param(params, "cursor"),
    page: Math.max(1, Number(param(params, "page")) || 1),
    size: PAGE_SIZES.includes(size) ? size : 50,
  };
}

/** What brings one back to the first page. */
export const FIRST_PAGE = { cursor: "", page: "" };

export function Pager({
  total,
  isPartial = false,
  next,
  shown,
}: {
  total: number;
  /** There are more than `total`. */
  isPartial?: boolean;
  next: string | null | undefined;
  shown: number;
}) {
  const [, change] = useParams();
  const { cursor, page, size } = usePage();
  const pages = Math.max(1, Math.ceil(total / size));
  if (shown === 0 && page === 1) return null;
  function go(to: string, number: number) {
    change({ cursor: to, page: number <= 1 ? "" : String(number) }, { push: true });
  }
  return (
    <nav
      aria-label="Pages of the list"
      className="flex flex-wrap items-center gap-2 border-line border-t px-4 py-2"
    >
      <p className="mr-auto text-xs text-ink-3">
        Page {formatCount(page)} of {formatTotal(Math.max(page, pages), isPartial && next != null)}
      </p>
      <label className="flex items-center gap-2 text-xs text-ink-3 max-sm:hidden">
        Rows
        <select
          className="field h-7 w-auto text-xs"
          value={size}
          onChange={(event) =>
            change({ ...FIRST_PAGE, size: event.target.value === "50" ? "" : event.target.value })
          }
        >
          {PAGE_SIZES.map((count) => (
            <option key={count} value={count}>
              {count}
            </option>
          ))}
        </select>
      </label>
      {page > 2 && (
        <Button small onClick={() => go("", 1)}>
          First
        </Button>
      )}
      <Button
        small
        icon="chevronLeft"
        disabled={page === 1}
        onClick={() => {
          const back = before.get(cursor);
          // A page opened by its address knows no way back but to the beginning.
          go(back ?? "", back === undefined ? 1 : page - 1);
        }}
      >
        Previous
      </Button>
      <Button
        small
        disabled={!next}
        onClick={() => {
          before.set(next!, cursor);
          go(next!, page + 1);
        }}
      >
        Next
      </Button>
    </nav>
  );
}
