/** What users put into a job and what came out of it, as JSON that folds. */

import { memo } from "react";
import { JsonTree } from "@/components/json-tree";
import { Card } from "@/components/layout";
import { type Tab, Tabs } from "@/components/tabs";
import type { JsonText } from "@/lib/json";
import { formatBytes } from "@/lib/numbers";
import type { JobView } from "@/lib/records";
import { param, useParams } from "@/lib/url";

const LABELS = { payload: "Payload", result: "Result", checkpoint: "Checkpoint", tags: "Tags" };
type Kind = keyof typeof LABELS;

/** Drawn again only when its text is another one: a payload may be long. */
const Tree = memo(JsonTree);

export function DataCard({ job }: { job: JobView }) {
  const [params, change] = useParams();
  const kinds = (Object.keys(LABELS) as Kind[]).filter((kind) => job[kind] !== null);
  const wanted = param(params, "data", "payload");
  const chosen = kinds.find((kind) => kind === wanted) ?? "payload";
  const text = job[chosen] as JsonText;
  return (
    <Card flush>
      <Tabs
        label="What is in the job"
        chosen={chosen}
        onChoose={(kind) => change({ data: kind === "payload" ? undefined : kind })}
        tabs={kinds.map((kind): Tab => ({ id: kind, label: LABELS[kind], count: sizeOf(job[kind]!) }))}
      >
        <div className="p-4">
          <Tree key={chosen} text={text} label={LABELS[chosen].toLowerCase()} />
        </div>
      </Tabs>
    </Card>
  );
}

/** Said only when it is much. */
function sizeOf(text: JsonText): string | undefined {
  return text.length < 1000 ? undefined : formatBytes(new TextEncoder().encode(text).length);
}
