// BullMQ: its defaults, and the removal of finished jobs but the last 1,000 that its guide advises for production.
import { Queue, Worker } from "bullmq";
import { CONCURRENCY, SERVER, main, mark, payload } from "./stopwatch.mjs";

const connection = { host: SERVER.hostname, port: Number(SERVER.port), maxRetriesPerRequest: null };
const queue = new Queue("bench", { connection, defaultJobOptions: { removeOnComplete: { count: 1000 } } });

await main({
  enqueue: (n) => queue.add("send", payload(n)),
  left: () => queue.getJobCountByTypes("waiting", "active", "delayed", "prioritized"),
  work: async () => new Worker("bench", async (job) => mark(job.data.n), { connection, concurrency: CONCURRENCY }),
});
