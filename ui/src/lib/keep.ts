/** What the browser keeps for us. A browser that keeps nothing is no reason to fail. */

function read(storage: () => Storage, name: string): string | null {
  try {
    return storage().getItem(name);
  } catch {
    return null;
  }
}

function write(storage: () => Storage, name: string, value: string | null): void {
  try {
    if (value === null) storage().removeItem(name);
    else storage().setItem(name, value);
  } catch {
    // Private windows may refuse; the choice then lasts as long as the page.
  }
}

/** A choice that outlives the window, as JSON. */
export function recall<T>(name: string, otherwise: T): T {
  const text = read(() => localStorage, `rookery.${name}`);
  if (text === null) return otherwise;
  try {
    return JSON.parse(text) as T;
  } catch {
    return otherwise;
  }
}

/** Keep a choice; null forgets it. */
export function remember(name: string, value: unknown): void {
  write(() => localStorage, `rookery.${name}`, value === null ? null : JSON.stringify(value));
}

/** Text that outlives the window. */
export const lasting = {
  get: (name: string) => read(() => localStorage, `rookery.${name}`),
  set: (name: string, value: string | null) => write(() => localStorage, `rookery.${name}`, value),
};

/** Text that is gone when the window is. */
export const passing = {
  get: (name: string) => read(() => sessionStorage, `rookery.${name}`),
  set: (name: string, value: string | null) => write(() => sessionStorage, `rookery.${name}`, value),
};
