-- What operators and dashboards need: search, bulk operations, schedules, webhooks, logs, throughput.

ALTER TABLE job ADD COLUMN ready_at INTEGER;    -- since when it could have been claimed
ALTER TABLE job ADD COLUMN trace TEXT;          -- `traceparent` of whoever enqueued it

-- Searches go by creation; the row's own seq stands at the end of every index anyway.
DROP INDEX job_of_queue;
CREATE INDEX job_of_queue ON job (queue, state, created_at);
CREATE INDEX job_by_creation ON job (created_at);
CREATE INDEX job_of_unique_key ON job (unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX job_of_batch ON job (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX job_of_chain ON job (chain_id) WHERE chain_id IS NOT NULL;
CREATE INDEX job_of_parent ON job (parent_id) WHERE parent_id IS NOT NULL;

-- The tags of each job; values as JSON text, so that 1 and "1" are two things.
CREATE TABLE job_tag (
  key   TEXT NOT NULL,
  value TEXT NOT NULL,
  job   INTEGER NOT NULL,
  PRIMARY KEY (key, value, job)
) STRICT, WITHOUT ROWID;
-- What belongs into job_tag, said once for all who write it. 1 and 1.0 are one number.
CREATE VIEW tag_of_job AS
SELECT tag.key AS key,
       CASE tag.type
       WHEN 'true' THEN 'true'
       WHEN 'false' THEN 'false'
       WHEN 'real' THEN json_quote(iif(tag.value = CAST(tag.value AS INTEGER), CAST(tag.value AS INTEGER), tag.value))
       ELSE json_quote(tag.value)
       END AS value,
       job.seq AS job
  FROM job, json_each(job.tags) AS tag;
INSERT OR IGNORE INTO job_tag SELECT key, value, job FROM tag_of_job;

-- Actions on many jobs that are worked off in chunks, and how far they are.
CREATE TABLE bulk (
  id          TEXT PRIMARY KEY,
  namespace   TEXT NOT NULL,
  action      TEXT NOT NULL,
  queue       TEXT,                             -- where to move them
  rank        INTEGER,                          -- what to change their priority to
  filter      TEXT,                             -- as JSON; NULL: the jobs are listed in bulk_target
  up_to       INTEGER NOT NULL,                 -- jobs that came later are left alone
  position    TEXT,                             -- behind what the next chunk begins
  status      TEXT NOT NULL,                    -- queued | running | completed | failed
  total       INTEGER NOT NULL,
  listed      INTEGER NOT NULL,                 -- how many of them are in bulk_target; it begins when all are
  processed   INTEGER NOT NULL,
  affected    INTEGER NOT NULL,
  errors      INTEGER NOT NULL,
  error       TEXT,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  finished_at INTEGER
) STRICT;
CREATE INDEX bulk_open ON bulk (created_at) WHERE finished_at IS NULL;
CREATE INDEX bulk_finished ON bulk (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE bulk_target (
  bulk    TEXT NOT NULL,
  n       INTEGER NOT NULL,                     -- of the chunk, from 0
  job_ids TEXT NOT NULL,                        -- a JSON array; all but the last have 500
  PRIMARY KEY (bulk, n)
) STRICT, WITHOUT ROWID;

-- Jobs that are enqueued again and again. The times come from outside; here they are only kept.
CREATE TABLE schedule (
  id          TEXT PRIMARY KEY,
  namespace   TEXT NOT NULL,
  name        TEXT NOT NULL,
  queue       TEXT NOT NULL,                    -- with its namespace in front
  cron        TEXT NOT NULL,
  timezone    TEXT NOT NULL,
  payload     TEXT NOT NULL,
  unique_key  TEXT,
  max_retries INTEGER NOT NULL,
  enabled     INTEGER NOT NULL,
  overlap     TEXT NOT NULL,                    -- allow | skip
  missed      TEXT NOT NULL,                    -- once | skip | all
  last_run    INTEGER,
  next_run    INTEGER,                          -- NULL while it is not enabled
  last_job    INTEGER,                          -- the seq of the job of its last run
  created_at  INTEGER NOT NULL,
  UNIQUE (namespace, name)
) STRICT;
CREATE INDEX schedule_due ON schedule (next_run) WHERE next_run IS NOT NULL;

-- Who wants to hear of events by HTTP. What is still to be delivered is in the outbox.
CREATE TABLE webhook (
  id               TEXT PRIMARY KEY,
  namespace        TEXT NOT NULL,
  url              TEXT NOT NULL,
  events           TEXT NOT NULL,               -- a JSON array of types; `*` means all
  queues           TEXT NOT NULL,               -- a JSON array of stored names; empty means all
  secret           TEXT,
  enabled          INTEGER NOT NULL,
  retry_limit      INTEGER NOT NULL,
  waiting          INTEGER NOT NULL,            -- deliveries in the outbox
  dropped          INTEGER NOT NULL,            -- deliveries given up because too many waited
  told             INTEGER NOT NULL,            -- the last event that was looked at for it
  failures         INTEGER NOT NULL,            -- deliveries given up in a row
  failing_since    INTEGER,                     -- since when deliveries are given up without one that succeeds
  disabled_reason  TEXT,                        -- NULL unless it was disabled because it failed for too long
  last_status_code INTEGER,
  last_error       TEXT,
  last_delivery_at INTEGER,
  created_at       INTEGER NOT NULL
) STRICT;

-- Numbers are never used twice, so that a late outcome cannot be taken for that of another delivery.
DROP TABLE outbox;
CREATE TABLE outbox (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  kind       TEXT NOT NULL,
  target     TEXT NOT NULL,
  body       TEXT NOT NULL,
  attempts   INTEGER NOT NULL,
  due_at     INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX outbox_of_target ON outbox (kind, target, due_at);

-- The last deliveries of each webhook, with what was answered.
CREATE TABLE webhook_delivery (
  id          INTEGER PRIMARY KEY,
  webhook     TEXT NOT NULL,
  event_seq   INTEGER NOT NULL,
  event_type  TEXT NOT NULL,
  attempt     INTEGER NOT NULL,
  status_code INTEGER NOT NULL,                 -- 0: no answer
  error       TEXT,
  answer      TEXT,                             -- the beginning of it
  duration_ms REAL NOT NULL,
  outcome     TEXT NOT NULL,                    -- delivered | retrying | failed
  at          INTEGER NOT NULL
) STRICT;
CREATE INDEX webhook_delivery_of_webhook ON webhook_delivery (webhook);

-- What workers say while they work. Lines are numbered from 1; the oldest of too many are dropped.
CREATE TABLE job_log (
  job     INTEGER NOT NULL,
  n       INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  level   TEXT NOT NULL,
  message TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  PRIMARY KEY (job, n)
) STRICT, WITHOUT ROWID;

-- Jobs that are gone and whose lines are yet to be deleted.
CREATE TABLE job_log_left (
  job INTEGER PRIMARY KEY
) STRICT;

-- What happened in each minute. Queue 0 stands for those that have been deleted.
CREATE TABLE throughput (
  minute    INTEGER NOT NULL,                   -- its beginning, in milliseconds since 1970
  queue     INTEGER NOT NULL,
  enqueued  INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  failed    INTEGER NOT NULL,
  PRIMARY KEY (minute, queue)
) STRICT, WITHOUT ROWID;
CREATE INDEX throughput_of_queue ON throughput (queue, minute);
