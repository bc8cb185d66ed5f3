/** Texts that are there to be copied. */

import { useState } from "react";
import { IconButton } from "./button";
import { toast } from "./toast";

/** Put a text on the clipboard, also where the page is not served securely. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.setAttribute("readonly", "");
    area.className = "sr-only";
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("The browser does not allow copying.");
  }
}

export function CopyButton({
  text,
  label = "Copy",
  small = true,
}: {
  text: string;
  label?: string;
  small?: boolean;
}) {
  const [done, setDone] = useState(false);
  return (
    <IconButton
      icon={done ? "check" : "copy"}
      label={done ? "Copied" : label}
      small={small}
      onClick={async (event) => {
        event.stopPropagation();
        try {
          await copyText(text);
          setDone(true);
          setTimeout(() => setDone(false), 1500);
        } catch (error) {
          toast.bad(String(error));
        }
      }}
    />
  );
}

/** A command or a piece of code with a way to copy it. */
export function Snippet({ text, label }: { text: string; label: string }) {
  return (
    <div className="flex items-start rounded-lg border border-line bg-sunken text-left">
      <pre
        role="group"
        tabIndex={0}
        aria-label={label}
        className="min-w-0 flex-1 whitespace-pre-wrap break-words py-2.5 pl-3 font-mono text-xs leading-5"
      >
        {text}
      </pre>
      <span className="shrink-0 p-1">
        <CopyButton text={text} label={`Copy ${label}`} />
      </span>
    </div>
  );
}
