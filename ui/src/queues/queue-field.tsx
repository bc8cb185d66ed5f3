/** Choosing a queue: by typing, with those that there are as completions, or from those where something is. */

import { useQuery } from "@tanstack/react-query";
import type { ComponentProps } from "react";
import { SelectField, TextField } from "@/components/field";
import { formatCount } from "@/lib/numbers";
import { queries } from "@/lib/queries";
import type { QueueView } from "@/lib/records";

/** The name of a queue, which need not be there yet. */
export function QueueField({
  except = [],
  hintIfNew,
  hint,
  ...rest
}: Omit<ComponentProps<typeof TextField>, "suggestions" | "value"> & {
  value: string;
  /** Queues that are not offered. */
  except?: string[];
  /** What is said of a queue that is not there yet. */
  hintIfNew?: string;
}) {
  const names = useQuery(queries.queues()).data?.map((queue) => queue.name);
  const typed = rest.value.trim();
  const isNew = names !== undefined && typed !== "" && !names.includes(typed);
  return (
    <TextField
      {...rest}
      suggestions={(names ?? []).filter((name) => !except.includes(name))}
      hint={isNew && hintIfNew ? hintIfNew : hint}
    />
  );
}

/** One of the queues that have jobs in a state, or all of them. */
export function QueueSelect({
  queues,
  state,
  value,
  onChange,
}: {
  queues: QueueView[];
  state: "dead" | "held";
  value: string;
  onChange: (name: string) => void;
}) {
  return (
    <SelectField
      label="Queue"
      bare
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className="sm:max-w-56"
      options={[
        ["", "All queues"],
        ...queues.map((queue): [string, string] => [
          queue.name,
          `${queue.name} (${formatCount(queue[state])})`,
        ]),
      ]}
    />
  );
}
