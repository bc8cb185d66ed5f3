/** Short words about what was just done, read aloud, gone after a while. `toast.good("Queue paused")`. */

import { messageOf } from "@/lib/api";
import { createStore, useStore } from "@/lib/store";
import { IconButton } from "./button";
import { cx } from "./cx";
import { Icon } from "./icons";

interface Toast {
  id: number;
  tone: "good" | "bad";
  text: string;
  action?: { label: string; run: () => void };
}

const shown = createStore<Toast[]>([]);
let lastId = 0;
const LASTS = { good: 5_000, bad: 10_000 };

function show(tone: Toast["tone"], text: string, action?: Toast["action"]): void {
  lastId += 1;
  const id = lastId;
  shown.set([...shown.get().slice(-3), { id, tone, text, action }]);
  setTimeout(() => drop(id), LASTS[tone]);
}

function drop(id: number): void {
  shown.set(shown.get().filter((toast) => toast.id !== id));
}

export const toast = {
  good: (text: string, action?: Toast["action"]) => show("good", text, action),
  bad: (text: string, action?: Toast["action"]) => show("bad", text, action),
};

/** Do something at once; say that it is done, or what went wrong. */
export async function attempt(done: string, run: () => Promise<unknown>): Promise<boolean> {
  try {
    await run();
    toast.good(done);
    return true;
  } catch (error) {
    toast.bad(messageOf(error));
    return false;
  }
}

/** Where they appear. Once, in the shell. */
export function Toasts() {
  const toasts = useStore(shown);
  return (
    <div
      aria-live="polite"
      role="status"
      className="pointer-events-none fixed inset-x-4 bottom-4 z-50 flex flex-col items-end gap-2"
    >
      {toasts.map((toast) => (
        <div
          key={toast.id}
          className="pointer-events-auto flex w-full max-w-sm items-start gap-2 rounded-lg border border-line bg-surface py-2 pr-2 pl-3 text-sm shadow-raised motion-safe:animate-[arrive_160ms_ease-out]"
        >
          <Icon
            name={toast.tone === "good" ? "check" : "warning"}
            className={cx("mt-1 shrink-0", toast.tone === "good" ? "text-good" : "text-danger")}
          />
          <p className="min-w-0 flex-1 break-words py-0.5">{toast.text}</p>
          {toast.action && (
            <button
              type="button"
              className="link shrink-0 py-0.5 font-medium"
              onClick={() => {
                toast.action?.run();
                drop(toast.id);
              }}
            >
              {toast.action.label}
            </button>
          )}
          <IconButton icon="close" label="Dismiss" small className="-my-0.5" onClick={() => drop(toast.id)} />
        </div>
      ))}
    </div>
  );
}
