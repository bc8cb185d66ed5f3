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
ALTER TABLE worker ADD COLUMN job_id TEXT;                       -- what it works on

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
