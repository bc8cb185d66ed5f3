/** A job as one would ask for it again: as a request, as a curl command, as Python. Numbers keep their digits. */

import { curl } from "./curl";
import { type JsonNode, type JsonText, parseJson, printJson } from "./json";
import type { JobView } from "./records";

/** The fields of the request, each as JSON; what the server would take anyway is left out. */
export function requestFor(job: JobView): [name: string, value: JsonText][] {
  const quote = (text: string) => JSON.stringify(text);
  const fields: [string, JsonText | null][] = [
    ["queue", quote(job.queue)],
    ["payload", job.payload],
    ["priority", job.priority_name === "normal" ? null : quote(job.priority_name)],
    ["max_retries", job.max_retries === 3 ? null : String(job.max_retries)],
    ["retry_backoff", job.retry_backoff === "exponential" ? null : quote(job.retry_backoff)],
    ["retry_base_delay", job.retry_base_delay === "5s" ? null : quote(job.retry_base_delay)],
    ["retry_max_delay", job.retry_max_delay === "10m" ? null : quote(job.retry_max_delay)],
    ["max_lost_leases", job.max_lost_leases === 5 ? null : String(job.max_lost_leases)],
    ["unique_key", job.unique_key === null ? null : quote(job.unique_key)],
    [
      "unique_period",
      job.unique_key === null || job.unique_period === 3600 ? null : numberText(job.unique_period),
    ],
    ["expire_after", job.expire_after ? quote(job.expire_after) : null],
    ["tags", job.tags === null || job.tags === "{}" ? null : job.tags],
    ["agent", only(job.agent, ["max_iterations", "max_cost_usd", "iteration_timeout"])],
    ["chain", job.chain_step === 0 ? only(job.chain_config, ["steps", "on_failure", "on_exit"]) : null],
    ["depends_on", job.depends_on?.length ? JSON.stringify(job.depends_on) : null],
    ["parent_id", job.parent_id === null ? null : quote(job.parent_id)],
  ];
  return fields.filter((field): field is [string, JsonText] => field[1] !== null);
}

const numberText = (value: number | null) => (value === null ? null : String(value));

/** Some members of an object; null if it has none of them. */
function only(text: JsonText | null, names: string[]): JsonText | null {
  if (text === null) return null;
  const node = parseJson(text);
  if (node.kind !== "object") return null;
  const entries = node.entries.filter(([name]) => names.includes(name));
  return entries.length === 0 ? null : printJson({ kind: "object", entries });
}

/** A command for a shell. */
export function curlFor(job: JobView, server: string, needsKey: boolean): string {
  const members = requestFor(job).map(([name, value]) => `"${name}":${value}`);
  return curl(server, "POST", "api/v1/enqueue", `{${members.join(",")}}`, needsKey);
}

/** The same with the Python client, which reads a key from `ROOKERY_API_KEY` by itself. */
export function pythonFor(job: JobView, server: string): string {
  const parts = requestFor(job).map(([name, value]) => {
    const literal = pythonLiteral(parseJson(value), 2);
    return `        ${name === "queue" || name === "payload" ? "" : `${name}=`}${literal},\n`;
  });
  const url = JSON.stringify(server.replace(/\/$/, ""));
  return `from rookery import Client\n\nwith Client(${url}) as client:\n    client.enqueue(\n${parts.join("")}    )\n`;
}

function pythonLiteral(node: JsonNode, level: number): string {
  const pad = `\n${"    ".repeat(level + 1)}`;
  const end = `\n${"    ".repeat(level)}`;
  switch (node.kind) {
    case "object": {
      const parts = node.entries.map(
        ([name, value]) => `${pad}${JSON.stringify(name)}: ${pythonLiteral(value, level + 1)},`,
      );
      return parts.length === 0 ? "{}" : `{${parts.join("")}${end}}`;
    }
    case "array": {
      const parts = node.items.map((item) => `${pad}${pythonLiteral(item, level + 1)},`);
      return parts.length === 0 ? "[]" : `[${parts.join("")}${end}]`;
    }
    case "boolean":
      return node.value ? "True" : "False";
    case "null":
      return "None";
    default:
      return printJson(node);
  }
}
