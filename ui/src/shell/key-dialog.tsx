/** The server wants a key. */

import { useEffect, useState } from "react";
import { Button } from "@/components/button";
import { Note } from "@/components/feedback";
import { TextField } from "@/components/field";
import { Rook } from "@/components/icons";
import { auth, setKey } from "@/lib/auth";
import { client } from "@/lib/queries";
import { useStore } from "@/lib/store";

/** In place of the app, until there is a key that opens it. */
export function KeyPage() {
  const { key, refused } = useStore(auth);
  const [typed, setTyped] = useState("");
  useEffect(() => {
    document.title = "Sign in · Rookery";
  }, []);
  return (
    <main className="flex min-h-dvh items-center justify-center p-4">
      <form
        className="card flex w-full max-w-sm flex-col gap-4 p-6"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed.trim() === "") return;
          client.clear();
          setKey(typed.trim());
          setTyped("");
        }}
      >
        <div className="flex items-center gap-3">
          <Rook size={32} />
          <div>
            <h1 className="text-lg font-semibold">Sign in to Rookery</h1>
            <p className="text-sm text-ink-2">This server asks for a key.</p>
          </div>
        </div>
        <TextField
          label="API key or admin password"
          type="password"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          autoComplete="current-password"
          autoFocus
          hint="Kept in this window only, until you close it."
        />
        {key !== null && refused && <Note tone="danger">The server says: {refused}</Note>}
        <Button type="submit" look="primary" icon="key" disabled={typed.trim() === ""}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
