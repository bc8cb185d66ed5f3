/**
 * Tables. At phone width every row becomes a card whose cells carry their column's name.
 * Rows that lead somewhere are reached with j and k and opened with Enter; x selects.
 */

import {
  type ColumnDef,
  columnVisibilityFeature,
  FlexRender,
  rowSelectionFeature,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { type ReactNode, useMemo } from "react";
import { cx } from "./cx";
import { Checkbox } from "./field";
import { Icon } from "./icons";

export interface Column<Row> {
  id: string;
  title: string;
  cell: (row: Row) => ReactNode;
  /** Numbers stand on the right. */
  right?: boolean;
  /** What the server sorts by, if it can sort by this. */
  sort?: string;
  /** Takes what room is left and cuts what is too long. */
  wide?: boolean;
  /** On a phone it is the card's heading, without its name. */
  lead?: boolean;
  /** On a phone it takes half of the width, not a quarter. */
  half?: boolean;
  /** On a phone it stands beside the heading, without its name. */
  badge?: boolean;
  /** Not shown on a phone. */
  desktop?: boolean;
  /** Only read aloud, such as for a column of buttons. */
  silent?: boolean;
  className?: string;
}

export interface Sorting {
  by: string;
  order: "asc" | "desc";
  onSort: (by: string, order: "asc" | "desc") => void;
}

export interface Selection {
  chosen: ReadonlySet<string>;
  onChange: (chosen: Set<string>) => void;
}

interface TableProps<Row> {
  label: string;
  rows: Row[];
  rowId: (row: Row) => string;
  columns: Column<Row>[];
  hidden?: ReadonlySet<string>;
  onOpen?: (row: Row) => void;
  sorting?: Sorting;
  selection?: Selection;
  rowTone?: (row: Row) => string | undefined;
}

const features = tableFeatures({ columnVisibilityFeature, rowSelectionFeature });

export function Table<Row extends object>({
  label,
  rows,
  rowId,
  columns,
  hidden,
  onOpen,
  sorting,
  selection,
  rowTone,
}: TableProps<Row>) {
  const shape = useMemo(() => new Map(columns.map((column) => [column.id, column])), [columns]);
  const definitions = useMemo(
    () =>
      columns.map(
        (column): ColumnDef<typeof features, Row> => ({
          id: column.id,
          header: column.title,
          cell: ({ row }) => column.cell(row.original),
        }),
      ),
    [columns],
  );
  const rowSelection = useMemo(
    () => Object.fromEntries([...(selection?.chosen ?? [])].map((id) => [id, true as const])),
    [selection?.chosen],
  );
  const table = useTable({
    features,
    data: rows,
    columns: definitions,
    getRowId: rowId,
    state: {
      rowSelection,
      columnVisibility: Object.fromEntries([...(hidden ?? [])].map((id) => [id, false])),
    },
    onRowSelectionChange: (change) => {
      const next = typeof change === "function" ? change(rowSelection) : change;
      selection?.onChange(new Set(Object.keys(next).filter((id) => next[id])));
    },
  });

  const all = rows.map(rowId);
  const chosenHere = all.filter((id) => selection?.chosen.has(id));
  function chooseAll(on: boolean) {
    const next = new Set(selection!.chosen);
    for (const id of all) on ? next.add(id) : next.delete(id);
    selection!.onChange(next);
  }

  return (
    // What is only read aloud stands where it is by position, and must not reach out of the part that scrolls.
    <div className="relative overflow-x-auto max-sm:overflow-visible">
      <table aria-label={label} className="w-full border-collapse text-sm max-sm:block">
        <thead className="max-sm:sr-only">
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id} className="border-line border-b">
              {selection && (
                <th scope="col" className="w-9 py-2 pl-4 text-left align-middle">
                  <Checkbox
                    label="Select all on this page"
                    checked={all.length > 0 && chosenHere.length === all.length}
                    mixed={chosenHere.length > 0}
                    onChange={chooseAll}
                  />
                </th>
              )}
              {group.headers.map((header) => (
                <HeaderCell key={header.id} column={shape.get(header.column.id)!} sorting={sorting} />
              ))}
            </tr>
          ))}
        </thead>
        <tbody className="max-sm:block">
          {table.getRowModel().rows.map((row) => {
            const isChosen = selection?.chosen.has(row.id) ?? false;
            return (
              <tr
                key={row.id}
                data-row={row.id}
                tabIndex={-1}
                aria-selected={selection ? isChosen : undefined}
                onKeyDown={(event) => {
                  if (event.target !== event.currentTarget) return;
                  if (event.key === "Enter") onOpen?.(row.original);
                  if (event.key === "x" && selection) row.toggleSelected();
                }}
                onClick={(event) => {
                  if (!onOpen || isControl(event.target) || window.getSelection()?.toString()) return;
                  onOpen(row.original);
                }}
                className={cx(
                  "border-line border-b last:border-b-0 outline-offset-[-2px] focus:outline-2 focus:outline-accent",
                  "max-sm:relative max-sm:grid max-sm:grid-flow-row-dense max-sm:grid-cols-4 max-sm:gap-x-3 max-sm:gap-y-2 max-sm:px-4 max-sm:py-3",
                  selection && "max-sm:pl-11",
                  onOpen && "cursor-pointer hover:bg-hover",
                  isChosen && "bg-accent-soft hover:bg-accent-soft",
                  rowTone?.(row.original),
                )}
              >
                {selection && (
                  <td className="py-2 pl-4 align-middle max-sm:absolute max-sm:top-3 max-sm:left-0 max-sm:py-0">
                    {/* biome-ignore lint/a11y/noLabelWithoutControl: it only makes the box easier to hit */}
                    <label className="block max-sm:-m-3 max-sm:p-3">
                      <Checkbox
                        label={`Select ${row.id}`}
                        checked={isChosen}
                        onChange={() => row.toggleSelected()}
                      />
                    </label>
                  </td>
                )}
                {row.getVisibleCells().map((cell) => (
                  <BodyCell key={cell.id} column={shape.get(cell.column.id)!}>
                    <FlexRender cell={cell} />
                  </BodyCell>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function isControl(target: EventTarget): boolean {
  return (
    target instanceof Element &&
    target.closest("a, button, input, select, label, summary, [role=menu]") !== null
  );
}

function HeaderCell<Row>({ column, sorting }: { column: Column<Row>; sorting?: Sorting }) {
  const isSorted = sorting !== undefined && column.sort === sorting.by;
  const title = column.silent ? <span className="sr-only">{column.title}</span> : column.title;
  return (
    <th
      scope="col"
      aria-sort={isSorted ? (sorting.order === "asc" ? "ascending" : "descending") : undefined}
      className={cx(
        "whitespace-nowrap px-2 py-2 text-left font-medium text-ink-3 text-xs first:pl-4 last:pr-4",
        column.right && "text-right",
        column.className,
      )}
    >
      {sorting && column.sort ? (
        <button
          type="button"
          onClick={() => sorting.onSort(column.sort!, isSorted && sorting.order === "desc" ? "asc" : "desc")}
          className={cx(
            "inline-flex items-center gap-1 rounded align-bottom hover:text-ink",
            column.right && "flex-row-reverse",
            isSorted && "text-ink",
          )}
        >
          {title}
          <Icon
            name={isSorted && sorting.order === "asc" ? "arrowUp" : "arrowDown"}
            size={11}
            className={isSorted ? "" : "opacity-0"}
          />
        </button>
      ) : (
        title
      )}
    </th>
  );
}

function BodyCell<Row>({ column, children }: { column: Column<Row>; children: ReactNode }) {
  return (
    <td
      className={cx(
        "h-10 px-2 py-1.5 align-middle first:pl-4 last:pr-4",
        column.right && "text-right",
        column.wide && "w-full max-w-0",
        column.desktop && "max-sm:hidden",
        "max-sm:h-auto max-sm:w-auto max-sm:max-w-none max-sm:p-0 max-sm:text-left max-sm:first:pl-0 max-sm:last:pr-0 max-sm:has-[>div:empty]:hidden",
        (column.wide || column.lead) && "max-sm:col-span-4 max-sm:min-w-0",
        column.half && "max-sm:col-span-2 max-sm:min-w-0",
        (column.lead || column.badge) && "max-sm:-order-1",
        column.badge && "max-sm:col-span-2 max-sm:justify-self-end",
        column.className,
      )}
    >
      {!column.lead && !column.silent && !column.badge && (
        <span className="hidden text-xs text-ink-3 max-sm:block" aria-hidden="true">
          {column.title}
        </span>
      )}
      <div className={column.wide || column.lead ? "truncate" : undefined}>{children}</div>
    </td>
  );
}
