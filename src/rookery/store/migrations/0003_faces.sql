-- What the other faces keep with a job. The rules do not look into `face`.
ALTER TABLE job ADD COLUMN face TEXT;                            -- a JSON object
ALTER TABLE job ADD COLUMN callback TEXT;                        -- the URL to tell how the job ended
ALTER TABLE job ADD COLUMN by_result INTEGER NOT NULL DEFAULT 0; -- 1: dead because its worker's result says so
ALTER TABLE queue ADD COLUMN dead_by_result INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue ADD COLUMN spelling TEXT;                      -- its name as the callers of a face write it
CREATE INDEX job_of_face ON job (created_at) WHERE face IS NOT NULL;

ALTER TABLE job ADD COLUMN renewed_at INTEGER;                   -- when its lease was last renewed

-- Who wants to hear that a queue, which was empty, has jobs again; for as long as they say so.
CREATE TABLE ready_hook (
  id           TEXT PRIMARY KEY,
  namespace    TEXT NOT NULL,
  url          TEXT NOT NULL,
  queues       TEXT NOT NULL,                                    -- JSON object: names, and how they write them; *: all
  mode         TEXT NOT NULL,                                    -- fanout | group | hash
  group_id     TEXT,
  min_interval INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX ready_hook_by_end ON ready_hook (expires_at);

-- Workers that run on the machine of the store.
ALTER TABLE worker ADD COLUMN pid INTEGER;
ALTER TABLE worker ADD COLUMN pid_started TEXT;                  -- tells a process from a later one of that pid

CREATE TABLE setting (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Counts that outlive the processes that count: runs by how they ended, and how long they took.
CREATE TABLE tally (
  name  TEXT NOT NULL,
  label TEXT NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY (name, label)
) STRICT, WITHOUT ROWID;

-- What `queuectl` shows: the jobs of the queues `shell.…`, with the five states and the words of that program.
-- A job that was tried and waits, for its time or for a worker, has failed. Times are ISO 8601 in UTC.
CREATE INDEX job_tried ON job (queue, state) WHERE ended_at IS NULL AND (failures > 0 OR lost_leases > 0);

CREATE VIEW jobs AS
WITH shown AS (
  SELECT job.*,
         substr(queue.name, length('shell.') + 1) AS queue_name,
         CASE
         WHEN job.state = 'active' THEN 'processing'
         WHEN job.state = 'completed' THEN 'completed'
         WHEN job.state IN ('dead', 'cancelled') THEN 'dead'
         WHEN job.failures > 0 OR job.lost_leases > 0 THEN 'failed'
         ELSE 'pending'
         END AS shown_state,
         -- When its last run ended; a run that was lost has no end.
         CASE
         WHEN job.state = 'completed' THEN job.completed_at
         WHEN job.state != 'active' AND job.failed_at >= job.started_at THEN job.failed_at
         END AS run_ended_at
    FROM job JOIN queue ON queue.id = job.queue
   WHERE queue.name GLOB 'shell.*'
)
SELECT id,
       json_extract(payload, '$.command') AS command,
       shown_state AS state,
       failures AS attempts,
       max_retries,
       2 - rank AS priority,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', max(
         created_at, coalesce(ready_at, 0), coalesce(started_at, 0), coalesce(completed_at, 0), coalesce(failed_at, 0),
         iif(state = 'retrying' AND lost_leases > 0, scheduled_at, 0)) / 1000.0, 'unixepoch') AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(scheduled_at, order_key) / 1000.0, 'unixepoch') AS next_run_at,
       iif(failures > 0 OR shown_state = 'dead',
           (SELECT error FROM error WHERE error.job = seq ORDER BY error.id DESC LIMIT 1), NULL) AS last_error,
       iif(state = 'active', worker_id, NULL) AS worker_id,
       queue_name AS queue,
       CAST(json_extract(payload, '$.timeout') AS REAL) AS timeout,
       json_extract(face, '$.run_at') AS run_at,
       json_extract(face, '$.idempotency_key') AS idempotency_key,
       iif(run_ended_at IS NULL, NULL, json_extract(face, '$.exit_code')) AS exit_code,
       iif(shown_state = 'pending', NULL,
           strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch')) AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', run_ended_at / 1000.0, 'unixepoch') AS finished_at
  FROM shown;

CREATE VIEW workers AS
SELECT id,
       pid,
       strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', last_heartbeat / 1000.0, 'unixepoch') AS heartbeat_at
  FROM worker
 WHERE pid IS NOT NULL;

CREATE VIEW config AS
SELECT known.column1 AS key, coalesce(setting.value, known.column2) AS value
  FROM (VALUES ('max_retries', '3'),
               ('backoff_base', '2'),
               ('shutdown', 'false'),
               ('poll_interval', '1.0'),
               ('job_timeout', ''),
               ('kill_grace', '5')) AS known
  LEFT JOIN setting ON setting.key = known.column1;
