/** Searches as Python, for the SDK. */

import { Exact } from "./json";
import type { SearchRequest } from "./records";

/** A program that goes through all jobs that a search finds. The key is not written out: it comes from the environment. */
export function pythonSearch(server: string, request: SearchRequest, needsKey: boolean): string {
  const filters = Object.entries(request).map(([name, value]) => `    ${name}=${literal(value)},\n`);
  const url = literal(server.replace(/\/$/, ""));
  return [
    ...(needsKey ? ["import os", ""] : []),
    "from rookery import Client",
    "",
    `with Client(${url}${needsKey ? ', api_key=os.environ["ROOKERY_API_KEY"]' : ""}) as client:`,
    `    for job in client.search(${filters.length ? `\n${filters.map((line) => `    ${line}`).join("")}    ` : ""}):`,
    "        print(job.id, job.queue, job.state)",
    "",
  ].join("\n");
}

/** A plain value as Python writes it. */
export function literal(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (value instanceof Exact) return value.text;
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") {
    const pairs = Object.entries(value).map(([key, one]) => `${literal(key)}: ${literal(one)}`);
    return `{${pairs.join(", ")}}`;
  }
  return JSON.stringify(value);
}
