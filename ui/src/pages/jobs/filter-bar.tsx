/** The search as chips, and a field that completes what one types: a field's name, a value, or any text. */

import { type FocusEvent, type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { Chip } from "@/components/badge";
import { Button } from "@/components/button";
import { cx } from "@/components/cx";
import { Icon } from "@/components/icons";
import {
  type FilterField,
  fieldOf,
  isTime,
  type Known,
  type Offer,
  offersFor,
  splitField,
} from "@/lib/filter-fields";
import { describeFilter, type FilterFault, type FilterPart } from "@/lib/filter-words";
import type { JobFilter } from "@/lib/filters";

export function FilterBar({
  filter,
  known,
  fault,
  onChange,
  onReset,
}: {
  filter: JobFilter;
  known: Known;
  fault: FilterFault | null;
  onChange: (changes: Partial<JobFilter>) => void;
  onReset: () => void;
}) {
  const [field, setField] = useState<FilterField | null>(null);
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  /** The part that is being edited; it is not among the chips meanwhile. */
  const [edited, setEdited] = useState<FilterPart | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();

  const parts = describeFilter(filter);
  const shown = parts.filter((part) => part.label !== edited?.label);
  const base = edited ? { ...filter, ...edited.without } : filter;
  const offers = isOpen ? offersFor(text, field, base, known) : [];
  const chosen = Math.min(at, offers.length - 1);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the choice is the reason
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [chosen, isOpen]);

  function begin(next: FilterField | null, value = "") {
    setField(next);
    setText(value);
    setAt(0);
  }

  function leave() {
    setOpen(false);
    setEdited(null);
    begin(null);
  }

  function take(offer: Offer | undefined) {
    if (!offer || offer.fault) return;
    if (offer.field) begin(offer.field);
    else {
      onChange({ ...edited?.without, ...offer.change });
      setEdited(null);
      begin(null);
      setOpen(false);
    }
    input.current?.focus();
  }

  function edit(part: FilterPart) {
    const meant = fieldOf(part.field);
    if (!meant) return;
    setEdited(part.field === "states" || part.field === "errors" ? null : part);
    begin(meant, part.value);
    setOpen(true);
    input.current?.focus();
  }

  function type(value: string) {
    setOpen(true);
    setAt(0);
    const split = field === null ? splitField(value) : null;
    if (split) begin(...split);
    else setText(value);
  }

  function press(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      if (!isOpen) setOpen(true);
      else setAt((chosen + step + offers.length) % Math.max(1, offers.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (isOpen) take(offers[chosen]);
      else setOpen(true);
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (isOpen || field) leave();
      else input.current?.blur();
    } else if (event.key === "Backspace" && text === "") {
      if (field) {
        setEdited(null);
        begin(null);
      } else if (shown.length > 0) onChange(shown.at(-1)!.without);
    }
  }

  function away(event: FocusEvent) {
    if (!box.current?.contains(event.relatedTarget as Node | null)) leave();
  }

  return (
    <div role="search" aria-label="Search jobs" className="min-w-0 flex-1" onBlur={away} ref={box}>
      <div className="relative">
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field itself has the keys */}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: a larger place to hit the field */}
        <div
          onClick={(event) => event.target === event.currentTarget && input.current?.focus()}
          className={cx(
            "flex min-h-9 w-full pointer-coarse:min-h-11 cursor-text flex-wrap items-center gap-1.5 rounded-lg border bg-surface px-2.5 py-1 hover:border-ink-3 has-[input:focus-visible]:outline-2 has-[input:focus-visible]:-outline-offset-1 has-[input:focus-visible]:outline-accent",
            fault ? "border-danger" : "border-line-strong",
          )}
        >
          <Icon name="filter" size={14} className="shrink-0 text-ink-3" />
          {shown.map((part) => (
            <Chip
              key={part.label}
              isWrong={fault?.field === part.field}
              onEdit={() => edit(part)}
              onRemove={() => {
                onChange(part.without);
                input.current?.focus();
              }}
            >
              {part.label}
            </Chip>
          ))}
          {field && (
            <span className="shrink-0 rounded-md bg-accent-soft px-2 py-0.5 text-xs font-medium text-accent">
              {field.label}
            </span>
          )}
          <input
            ref={input}
            data-search
            role="combobox"
            aria-label={field ? field.label : "Add a filter"}
            aria-expanded={isOpen}
            aria-controls={`${id}-list`}
            aria-activedescendant={offers[chosen] && `${id}-${chosen}`}
            aria-autocomplete="list"
            aria-invalid={fault ? true : undefined}
            aria-describedby={fault ? `${id}-fault` : undefined}
            autoComplete="off"
            spellCheck={false}
            value={text}
            placeholder={
              field
                ? field.example
                : shown.length
                  ? "Add a filter"
                  : "Filter: queue, state, tag, payload, error, time…"
            }
            onChange={(event) => type(event.target.value)}
            onFocus={() => setOpen(true)}
            onClick={() => setOpen(true)}
            onKeyDown={press}
            className={cx(
              "h-6 min-w-32 flex-1 bg-transparent text-sm outline-none max-sm:text-base",
              field?.id === "jq" && "font-mono",
            )}
          />
          {parts.length > 0 && (
            <Button small look="quiet" className="-mr-1.5 h-6" onClick={onReset}>
              Reset
            </Button>
          )}
        </div>
        {isOpen && (
          <div className="absolute inset-x-0 top-full z-30 mt-1 max-w-xl overflow-hidden rounded-lg border border-line bg-surface shadow-raised">
            <Offers id={id} offers={offers} chosen={chosen} list={list} onPoint={setAt} onTake={take} />
            {field && isTime(field) && (
              <label className="flex items-center gap-3 border-line border-t px-3 py-2 text-sm text-ink-2">
                At
                <input
                  type="datetime-local"
                  className="field w-auto"
                  onChange={(event) => {
                    if (event.target.value) setText(event.target.value);
                  }}
                  onKeyDown={(event) => event.key === "Enter" && take(offers[0])}
                />
                <Button
                  small
                  disabled={!offers[0] || !!offers[0].fault || text === ""}
                  onClick={() => take(offers[0])}
                >
                  Set
                </Button>
              </label>
            )}
          </div>
        )}
      </div>
      {fault && (
        <p id={`${id}-fault`} role="alert" className="mt-1.5 text-xs text-danger">
          <b className="font-semibold">{fieldOf(fault.field)?.label}:</b> {fault.message}
        </p>
      )}
    </div>
  );
}

function Offers({
  id,
  offers,
  chosen,
  list,
  onPoint,
  onTake,
}: {
  id: string;
  offers: Offer[];
  chosen: number;
  list: React.RefObject<HTMLDivElement | null>;
  onPoint: (place: number) => void;
  onTake: (offer: Offer) => void;
}) {
  return (
    <div
      ref={list}
      id={`${id}-list`}
      role="listbox"
      aria-label="What to filter by"
      className="max-h-80 overflow-y-auto p-1.5"
    >
      {offers.length === 0 && <p className="px-2 py-3 text-sm text-ink-2">Nothing like that.</p>}
      {offers.map((offer, place) => (
        <div key={offer.id} role="presentation">
          {offers[place - 1]?.group !== offer.group && (
            <p className="px-2 pt-1.5 pb-1 text-xs font-medium text-ink-3" aria-hidden="true">
              {offer.group}
            </p>
          )}
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys */}
          {/* biome-ignore lint/a11y/useFocusableInteractive: the field above has the focus */}
          <div
            id={`${id}-${place}`}
            role="option"
            aria-selected={place === chosen}
            aria-disabled={offer.fault ? true : undefined}
            onPointerMove={() => onPoint(place)}
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => onTake(offer)}
            className={cx(
              "flex min-h-8 cursor-pointer items-center pointer-coarse:min-h-11 gap-3 rounded-md px-2 py-1 text-sm",
              place === chosen && "bg-accent-soft",
            )}
          >
            <span className="min-w-0 flex-1 truncate">{offer.label}</span>
            {offer.fault ? (
              <span className="shrink-0 text-xs text-danger">{offer.fault}</span>
            ) : (
              offer.note && (
                <span className="max-w-1/2 shrink-0 truncate text-xs text-ink-3">{offer.note}</span>
              )
            )}
          </div>
        </div>
      ))}
    </div>
  );
}
