// The same as stopwatch.py and run.py, for Node.
import { openSync, readFileSync, writeSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

export const SERVER = new URL(process.env.BENCH_SERVER);
export const CONCURRENCY = 10;

const jobs = Number(process.env.BENCH_JOBS);
const counts = new Uint8Array(jobs);
const times = new BigInt64Array(jobs);
let done = 0;

export function payload(n) {
  return { to: "someone@example.com", template: "welcome", n };
}

// Job number n is done. Node has no shared memory with a file, so marks are written ten times a second and at the end.
export function mark(n) {
  if (done === 0) setInterval(write, 100).unref();
  counts[n] += 1;
  times[n] = process.hrtime.bigint();
  done += 1;
  if (done === jobs) write();
}

let file;
function write() {
  file ??= openSync(process.env.BENCH_MARKS, "r+");
  writeSync(file, times, 0, times.byteLength, jobs);
  writeSync(file, counts, 0, counts.byteLength, 0);
}

export async function main({ prepare, enqueue, left, work }) {
  const [command, first, count] = process.argv.slice(2);
  if (command === "work") return await work();
  if (command === "prepare") await prepare();
  else if (command === "watch") await watch(left);
  else if (command === "enqueue") {
    const started = process.hrtime.bigint();
    for (let n = Number(first); n < Number(first) + Number(count); n++) await enqueue(n);
    console.log(Number(process.hrtime.bigint() - started) / 1e9);
  } else throw new Error(`there is no ${command} here`);
  process.exit(0);
}

// Prints when nothing was left. The system is not asked before every job has its mark.
async function watch(left) {
  console.log("ready");
  while (readFileSync(process.env.BENCH_MARKS).subarray(0, jobs).includes(0)) await setTimeout(5);
  while ((await left()) > 0) await setTimeout(5);
  console.log(String(process.hrtime.bigint()));
}
