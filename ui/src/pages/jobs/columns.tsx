/** Which columns are shown: the address says it, else what was chosen last in this browser. */

import { useState } from "react";
import { Button } from "@/components/button";
import { CheckField } from "@/components/field";
import { Popover } from "@/components/menu";
import { JOB_COLUMNS } from "@/jobs/table";
import { recall, remember } from "@/lib/keep";
import { param, useParams } from "@/lib/url";

const USUAL = ["id", "queue", "state", "attempt", "payload", "tags", "created"];
const NAME = "job-columns";
/** A row without it could not be told from another. */
const ALWAYS = "id";

function known(ids: unknown): string[] {
  return Array.isArray(ids) ? JOB_COLUMNS.map(({ id }) => id).filter((id) => ids.includes(id)) : [];
}

/** The names of the columns shown, in the order of the table, and a way to choose others. */
export function useColumns(): [string[], (ids: string[] | null) => void] {
  const [params, change] = useParams();
  const [kept, keep] = useState(() => known(recall(NAME, USUAL)));
  const said = known(param(params, "columns").split(","));
  const shown = said.length ? said : kept.length ? kept : USUAL;
  function choose(ids: string[] | null) {
    remember(NAME, ids);
    keep(ids ?? USUAL);
    change({ columns: ids === null ? undefined : ids.join(",") });
  }
  return [shown.includes(ALWAYS) ? shown : [ALWAYS, ...shown], choose];
}

export function ColumnChooser({
  shown,
  onChoose,
}: {
  shown: string[];
  onChoose: (ids: string[] | null) => void;
}) {
  return (
    <Popover label="Columns" icon="columns" small>
      {() => (
        <>
          <div className="grid grid-cols-2 gap-x-4 gap-y-2">
            {JOB_COLUMNS.filter(({ id }) => id !== ALWAYS).map(({ id, title }) => (
              <CheckField
                key={id}
                label={title}
                checked={shown.includes(id)}
                onChange={(on) => onChoose(known(on ? [...shown, id] : shown.filter((one) => one !== id)))}
              />
            ))}
          </div>
          <Button small look="quiet" className="mt-3 -ml-2" onClick={() => onChoose(null)}>
            The usual columns
          </Button>
        </>
      )}
    </Popover>
  );
}
