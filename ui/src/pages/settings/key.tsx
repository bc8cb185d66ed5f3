/** The key that this window uses. */

import { useState } from "react";
import { Badge } from "@/components/badge";
import { Button } from "@/components/button";
import { FormDialog, openDialog } from "@/components/dialog";
import { TextField } from "@/components/field";
import { Card } from "@/components/layout";
import { toast } from "@/components/toast";
import { auth, setKey } from "@/lib/auth";
import { client } from "@/lib/queries";
import { useStore } from "@/lib/store";

/** Go on with another key, or none; what was asked with the old one is forgotten. */
function use(key: string | null): void {
  client.clear();
  setKey(key);
}

export function KeyCard() {
  const { key } = useStore(auth);
  return (
    <Card
      title="API key"
      actions={key === null ? <Badge>no key</Badge> : <Badge tone="good">key in use</Badge>}
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 text-sm">
        {key === null ? (
          <p className="min-w-0 flex-1 basis-52 text-ink-2">
            The server answers without one. With a key you see what it may see, such as its namespace; it is
            kept until you close this window.
          </p>
        ) : (
          <p className="min-w-0 flex-1 basis-52 font-mono text-ink-2 text-xs">{masked(key)}</p>
        )}
        <div className="flex gap-2">
          <Button icon="key" onClick={() => openDialog((close) => <KeyDialog close={close} />)}>
            {key === null ? "Use a key" : "Use another"}
          </Button>
          {key !== null && (
            <Button
              onClick={() => {
                use(null);
                toast.good("The key is forgotten.");
              }}
            >
              Forget it
            </Button>
          )}
        </div>
      </div>
    </Card>
  );
}

/** Enough to tell it from others, and no more. */
function masked(key: string): string {
  return key.length <= 8 ? "•".repeat(8) : `${"•".repeat(8)}${key.slice(-4)}`;
}

function KeyDialog({ close }: { close: () => void }) {
  const [typed, setTyped] = useState("");
  return (
    <FormDialog
      title="Use an API key"
      close={close}
      label="Use it"
      disabled={typed.trim() === ""}
      submit={async () => {
        use(typed.trim());
        toast.good("The key is used from now on.");
      }}
    >
      <TextField
        label="API key or admin password"
        type="password"
        autoComplete="current-password"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        hint="If the server does not know it, it asks again."
        autoFocus
      />
    </FormDialog>
  );
}
