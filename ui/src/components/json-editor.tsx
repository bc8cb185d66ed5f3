/** A field for JSON: it says where a mistake is, puts lines in order, and leaves numbers as they are written. */

import { type KeyboardEvent, useId, useMemo } from "react";
import { faultOf, type JsonFault, prettyJson } from "@/lib/json";
import { cx } from "./cx";

/** What is wrong with a text; an empty one is no JSON either unless that is allowed. */
export function jsonFault(text: string, mayBeEmpty = false): JsonFault | null {
  return mayBeEmpty && text.trim() === "" ? null : faultOf(text);
}

export function JsonEditor({
  label,
  value,
  onChange,
  rows = 8,
  mayBeEmpty,
  hint,
  autoFocus,
}: {
  label: string;
  value: string;
  onChange: (text: string) => void;
  rows?: number;
  mayBeEmpty?: boolean;
  hint?: string;
  autoFocus?: boolean;
}) {
  const id = useId();
  const fault = useMemo(() => jsonFault(value, mayBeEmpty), [value, mayBeEmpty]);

  function indent(event: KeyboardEvent<HTMLTextAreaElement>) {
    // Tab leaves the field, as everywhere; only a new line keeps the indentation.
    if (event.key !== "Enter" || event.metaKey || event.ctrlKey) return;
    const area = event.currentTarget;
    const line = area.value.slice(0, area.selectionStart).split("\n").pop() ?? "";
    const pad = /^ */.exec(line)![0] + (/[{[]\s*$/.test(line) ? "  " : "");
    if (pad === "") return;
    event.preventDefault();
    area.setRangeText(`\n${pad}`, area.selectionStart, area.selectionEnd, "end");
    onChange(area.value);
  }

  return (
    <div className="min-w-0">
      <div className="mb-1 flex items-end justify-between gap-2">
        <label htmlFor={id} className="text-sm font-medium text-ink-2">
          {label}
        </label>
        <button
          type="button"
          className="link text-xs disabled:opacity-50"
          disabled={fault !== null || value.trim() === ""}
          onClick={() => onChange(prettyJson(value))}
        >
          Format
        </button>
      </div>
      <textarea
        id={id}
        value={value}
        data-first={autoFocus || undefined}
        rows={rows}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        aria-invalid={fault ? true : undefined}
        aria-describedby={`${id}-note`}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={indent}
        className={cx("field resize-y whitespace-pre font-mono text-xs leading-5")}
      />
      <p
        id={`${id}-note`}
        role={fault ? "alert" : undefined}
        className={cx("mt-1 min-h-4 text-xs", fault ? "text-danger" : "text-ink-3")}
      >
        {fault ? `Line ${fault.line}, column ${fault.column}: ${fault.reason}` : (hint ?? "Valid JSON")}
      </p>
    </div>
  );
}
