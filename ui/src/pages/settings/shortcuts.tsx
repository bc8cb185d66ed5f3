/** The keys, to read at leisure. */

import { Card } from "@/components/layout";
import { AllKeys } from "@/shell/help";

export function Shortcuts() {
  return (
    <Card title="Keyboard">
      <div className="-mt-2">
        <AllKeys />
      </div>
    </Card>
  );
}
