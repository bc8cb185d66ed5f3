/** How far a job is, as its worker tells it. */

import { Progress } from "@/components/feedback";
import { JsonTree } from "@/components/json-tree";
import { Card } from "@/components/layout";
import type { JsonText } from "@/lib/json";
import { readProgress } from "@/lib/progress";

export function ProgressCard({ progress }: { progress: JsonText | null }) {
  if (progress === null) return null;
  const { share, figure, words } = readProgress(progress);
  if (share === null && figure === null && words === null) {
    return (
      <Card title="Progress">
        <JsonTree text={progress} label="progress" />
      </Card>
    );
  }
  return (
    <Card title="Progress">
      {share !== null && <Progress value={Math.round(share * 1000) / 10} max={100} label="Progress" />}
      <p className="mt-2 flex flex-wrap gap-x-3 text-sm">
        {figure && <b className="font-semibold">{figure}</b>}
        {share !== null && !figure?.endsWith("%") && (
          <span className="text-ink-3">{Math.floor(share * 100)}%</span>
        )}
        {words && <span className="min-w-0 text-ink-2 [overflow-wrap:anywhere]">{words}</span>}
      </p>
    </Card>
  );
}
