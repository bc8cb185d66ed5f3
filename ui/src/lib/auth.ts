/** The key of whoever uses the app. It is kept for this window only and goes to the server in a header. */

import { passing } from "./keep";
import { createStore } from "./store";

export interface Auth {
  key: string | null;
  /** Why the server did not let us in; null while it does. */
  refused: string | null;
}

export const auth = createStore<Auth>({ key: passing.get("key"), refused: null });

/** Use this key from now on. */
export function setKey(key: string | null): void {
  passing.set("key", key);
  auth.set({ key, refused: null });
}

/** The server wants a key, or another one. */
export function refuse(reason: string): void {
  if (auth.get().refused !== reason) auth.set({ ...auth.get(), refused: reason });
}

/** What every call carries. */
export function credentials(): Record<string, string> {
  const { key } = auth.get();
  return key === null ? {} : { "X-API-Key": key };
}
