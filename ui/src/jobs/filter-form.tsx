/** The seed of a search: state, priority, tags, payload, jq, error and times. It applies when one says so. */

import { type FormEvent, useEffect, useState } from "react";
import { Chip } from "@/components/badge";
import { Button } from "@/components/button";
import { SelectField, TextField } from "@/components/field";
import { type FilterFault, isNarrow } from "@/lib/filter-words";
import { ALL, type JobFilter, PRIORITIES, readTag, STATES, type State } from "@/lib/filters";

export function FilterForm({
  filter,
  onApply,
  fault,
}: {
  filter: JobFilter;
  onApply: (filter: JobFilter) => void;
  /** What the server has against it. */
  fault?: FilterFault | null;
}) {
  const faultOf = (field: keyof JobFilter) => (fault?.field === field ? fault.message : null);
  const [draft, setDraft] = useState(filter);
  const [tag, setTag] = useState("");
  // Whoever goes back in the browser sees what was searched for then.
  const said = JSON.stringify(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: said stands for the filter
  useEffect(() => setDraft(filter), [said]);
  const set = (changes: Partial<JobFilter>) => setDraft({ ...draft, ...changes });
  const tagFault = tag.trim() === "" || readTag(tag.trim()) ? null : "Written as name:value";

  function addTag(): JobFilter {
    if (tag.trim() === "" || tagFault) return draft;
    const added = { ...draft, tags: [...new Set([...draft.tags, tag.trim()])] };
    setDraft(added);
    setTag("");
    return added;
  }

  function apply(event: FormEvent) {
    event.preventDefault();
    if (!tagFault) onApply(addTag());
  }

  return (
    <form onSubmit={apply} role="search" aria-label="Search jobs" className="px-4 pb-4">
      <div className="grid gap-3 sm:grid-cols-2 lg:grid-cols-4">
        <SelectField
          label="State"
          value={draft.states[0] ?? ""}
          onChange={(event) => {
            const states = event.target.value === "" ? [] : [event.target.value as State];
            set({ states });
            onApply({ ...draft, states });
          }}
          options={[["", "All"], ...STATES.map((state): [string, string] => [state, state])]}
        />
        <SelectField
          label="Priority"
          value={draft.priority}
          onChange={(event) => {
            set({ priority: event.target.value });
            onApply({ ...draft, priority: event.target.value });
          }}
          options={[["", "All"], ...PRIORITIES.map((name): [string, string] => [name, name])]}
        />
        <TextField
          label="Tag"
          value={tag}
          placeholder="tenant:acme"
          fault={tagFault}
          onChange={(event) => setTag(event.target.value)}
        />
        <TextField
          label="Error contains"
          value={draft.error}
          placeholder="SMTP timeout"
          onChange={(event) => set({ error: event.target.value })}
        />
        <div data-search>
          <TextField
            label="Payload contains"
            value={draft.payload}
            placeholder="user@example.com"
            onChange={(event) => set({ payload: event.target.value })}
          />
        </div>
        <TextField
          label="jq filter"
          className="font-mono"
          value={draft.jq}
          fault={faultOf("jq")}
          placeholder='.template == "welcome"'
          onChange={(event) => set({ jq: event.target.value })}
        />
        <TextField
          label="Created from"
          type="datetime-local"
          value={draft.createdAfter}
          fault={faultOf("createdAfter")}
          onChange={(event) => set({ createdAfter: event.target.value })}
        />
        <TextField
          label="Created until"
          type="datetime-local"
          value={draft.createdBefore}
          fault={faultOf("createdBefore")}
          onChange={(event) => set({ createdBefore: event.target.value })}
        />
      </div>
      <div className="mt-3 flex flex-wrap items-center gap-2">
        {draft.tags.map((one) => (
          <Chip
            key={one}
            onRemove={() => {
              const tags = draft.tags.filter((other) => other !== one);
              set({ tags });
              onApply({ ...draft, tags });
            }}
          >
            {one}
          </Chip>
        ))}
        <div className="ml-auto flex gap-2">
          {(isNarrow(filter, true) || isNarrow(draft, true)) && (
            <Button look="quiet" onClick={() => onApply({ ...ALL, queue: filter.queue })}>
              Reset
            </Button>
          )}
          <Button type="submit" icon="search">
            Search
          </Button>
        </div>
      </div>
    </form>
  );
}
