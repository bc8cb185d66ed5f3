// pg-boss: its defaults, but that a worker takes ten jobs at a time and asks again at once while it gets that many:
// without that it would wait for two seconds between one job and the next.
import { PgBoss } from "pg-boss";
import { CONCURRENCY, SERVER, main, mark, payload } from "./stopwatch.mjs";

const boss = new PgBoss(SERVER.href);
boss.on("error", (error) => console.error(error));
await boss.start();

await main({
  prepare: () => boss.createQueue("bench"),
  enqueue: (n) => boss.send("bench", payload(n)),
  left: async () => {
    const { rows } = await boss.getDb().executeSql("SELECT count(*) FROM pgboss.job WHERE name = 'bench' AND state < 'completed'");
    return Number(rows[0].count);
  },
  work: () =>
    boss.work("bench", { batchSize: CONCURRENCY, burstWhenBatchFull: true }, async (jobs) => {
      for (const job of jobs) mark(job.data.n);
    }),
});
