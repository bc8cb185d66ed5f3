/** JSON that folds. Numbers are shown digit by digit as they came; nothing is ever taken for HTML. */

import { useMemo, useState } from "react";
import { type JsonNode, type JsonText, parseJson, prettyJson, printJson } from "@/lib/json";
import { CopyButton } from "./copy";
import { cx } from "./cx";
import { Icon } from "./icons";

const OPEN_DEPTH = 3;
const SHOWN_AT_FIRST = 100;

export function JsonTree({ text, label }: { text: JsonText; label: string }) {
  const node = useMemo(() => {
    try {
      return parseJson(text);
    } catch {
      return null;
    }
  }, [text]);
  return (
    <div className="group relative rounded-lg border border-line bg-sunken">
      <div
        role="group"
        aria-label={label}
        tabIndex={0}
        className="max-h-[28rem] overflow-auto py-2.5 pr-10 pl-3 font-mono text-xs leading-5"
      >
        {node === null ? <pre>{text}</pre> : <Node node={node} depth={0} />}
      </div>
      <span className="absolute top-1 right-1">
        <CopyButton text={prettyJson(text)} label={`Copy ${label}`} />
      </span>
    </div>
  );
}

function Node({ node, name, depth }: { node: JsonNode; name?: string; depth: number }) {
  const key = name !== undefined && (
    <>
      <span className="text-scheduled">{JSON.stringify(name)}</span>
      <span className="text-ink-3">: </span>
    </>
  );
  if (node.kind === "object" || node.kind === "array")
    return <Branch node={node} label={key} depth={depth} />;
  return (
    <div className="pl-4">
      {key}
      <Leaf node={node} />
    </div>
  );
}

function Leaf({ node }: { node: JsonNode }) {
  const tone = node.kind === "string" ? "text-good" : node.kind === "number" ? "text-active" : "text-warn";
  return (
    <span className={cx("whitespace-pre-wrap break-words [overflow-wrap:anywhere]", tone)}>
      {printJson(node)}
    </span>
  );
}

function Branch({
  node,
  label,
  depth,
}: {
  node: Extract<JsonNode, { kind: "object" | "array" }>;
  label: React.ReactNode;
  depth: number;
}) {
  const [open, setOpen] = useState(depth < OPEN_DEPTH);
  const [most, setMost] = useState(SHOWN_AT_FIRST);
  const isObject = node.kind === "object";
  const size = isObject ? node.entries.length : node.items.length;
  const [first, last] = isObject ? ["{", "}"] : ["[", "]"];
  if (size === 0) {
    return (
      <div className="pl-4">
        {label}
        <span className="text-ink-3">
          {first}
          {last}
        </span>
      </div>
    );
  }
  const children: [string | undefined, JsonNode][] = isObject
    ? node.entries
    : node.items.map((item) => [undefined, item]);
  return (
    <div>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex items-center rounded text-left hover:bg-hover"
      >
        <Icon
          name="chevronRight"
          size={10}
          className={cx("mr-1.5 shrink-0 text-ink-3 transition-transform", open && "rotate-90")}
        />
        <span>
          {label}
          <span className="text-ink-3">
            {first}
            {!open &&
              ` ${size} ${isObject ? (size === 1 ? "key" : "keys") : size === 1 ? "item" : "items"} ${last}`}
          </span>
        </span>
      </button>
      {open && (
        <>
          <div className="ml-1 border-line border-l pl-2">
            {children.slice(0, most).map(([name, child], at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: keys may repeat, places do not
              <Node key={at} name={name} node={child} depth={depth + 1} />
            ))}
            {size > most && (
              <button type="button" className="link ml-4" onClick={() => setMost(most + 1000)}>
                {size - most} more
              </button>
            )}
          </div>
          <div className="pl-4 text-ink-3">{last}</div>
        </>
      )}
    </div>
  );
}
