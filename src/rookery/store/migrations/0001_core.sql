-- Times are milliseconds since 1970. JSON values are compact JSON text.

-- Where the machine stands: its clock, the last id it gave out, and the two sequences.
CREATE TABLE machine (
  one       INTEGER PRIMARY KEY CHECK (one = 1),
  now       INTEGER NOT NULL,
  last_id   TEXT NOT NULL,
  job_seq   INTEGER NOT NULL,
  event_seq INTEGER NOT NULL
) STRICT;
INSERT INTO machine VALUES (1, 0, '00000000000000000000000000', 0, 0);

-- The counts are kept up to date by every batch, so that nobody counts jobs.
CREATE TABLE queue (
  id              INTEGER PRIMARY KEY,
  namespace       TEXT NOT NULL,
  name            TEXT NOT NULL UNIQUE,       -- with `namespace::` in front unless that is `default`
  created_at      INTEGER NOT NULL,
  paused_at       INTEGER,
  max_concurrency INTEGER,
  rate            INTEGER,
  window          INTEGER,                    -- of the rate, in milliseconds
  pending         INTEGER NOT NULL DEFAULT 0,
  active          INTEGER NOT NULL DEFAULT 0,
  held            INTEGER NOT NULL DEFAULT 0,
  completed       INTEGER NOT NULL DEFAULT 0,
  dead            INTEGER NOT NULL DEFAULT 0,
  scheduled       INTEGER NOT NULL DEFAULT 0,
  retrying        INTEGER NOT NULL DEFAULT 0,
  cancelled       INTEGER NOT NULL DEFAULT 0,
  blocked         INTEGER NOT NULL DEFAULT 0, -- pending jobs that wait for dependencies
  enqueued        INTEGER NOT NULL DEFAULT 0, -- jobs ever created
  failed          INTEGER NOT NULL DEFAULT 0  -- attempts ever failed
) STRICT;

CREATE TABLE job (
  seq             INTEGER PRIMARY KEY,        -- order of arrival
  id              TEXT NOT NULL UNIQUE,
  queue           INTEGER NOT NULL,
  state           TEXT NOT NULL,
  rank            INTEGER NOT NULL,           -- lower runs first
  order_key       INTEGER NOT NULL,           -- place inside the rank: creation, or due time if order_by_due
  order_by_due    INTEGER NOT NULL,
  waiting_on      INTEGER NOT NULL,           -- dependencies not yet completed
  attempt         INTEGER NOT NULL,
  failures        INTEGER NOT NULL,
  lost_leases     INTEGER NOT NULL,           -- in a row
  max_retries     INTEGER NOT NULL,
  max_lost_leases INTEGER NOT NULL,
  on_lost_lease   TEXT NOT NULL,              -- requeue | retry_now | back_off
  backoff         TEXT NOT NULL,
  base_delay      INTEGER NOT NULL,
  max_delay       INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  scheduled_at    INTEGER,
  started_at      INTEGER,
  completed_at    INTEGER,
  failed_at       INTEGER,
  ended_at        INTEGER,                    -- from when its retention counts; set in the terminal states
  held_at         INTEGER,
  lease           INTEGER,                    -- token of the last claim that was not taken back
  lease_length    INTEGER,
  lease_until     INTEGER,
  outcome         TEXT,                       -- how that claim ended, for whoever says it twice
  worker_id       TEXT,
  hostname        TEXT,
  expire_at       INTEGER,
  expire_after    TEXT,
  unique_key      TEXT,
  unique_period   INTEGER,
  batch_id        TEXT,
  batch_open      INTEGER NOT NULL,           -- 1 until its job batch has counted it
  namespace       TEXT NOT NULL,              -- of whoever made it; its chain's queues are named in it
  parent_id       TEXT,
  chain_id        TEXT,
  chain_step      INTEGER,
  has_dependents  INTEGER NOT NULL,           -- whether any job ever waited for this one
  was_completed   INTEGER NOT NULL,
  hold_reason     TEXT,
  payload         TEXT NOT NULL,
  tags            TEXT,
  agent           TEXT,
  depends_on      TEXT,
  chain_config    TEXT,
  progress        TEXT,
  checkpoint      TEXT,
  result          TEXT
) STRICT;

CREATE INDEX job_of_queue ON job (queue, state, seq);

-- The live sets. Finished jobs are in none of them, so the past costs nothing. They hang on columns that
-- are only set while the job belongs to them: an index that names `state` is worked on at every change.
CREATE INDEX job_ready ON job (queue, rank, order_key, seq) WHERE state = 'pending' AND waiting_on = 0;
CREATE INDEX job_leased ON job (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX job_due ON job (scheduled_at) WHERE scheduled_at IS NOT NULL;
CREATE INDEX job_expiring ON job (expire_at)
  WHERE expire_at IS NOT NULL AND state IN ('pending', 'scheduled', 'retrying', 'held');

CREATE INDEX job_ended ON job (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE error (
  id         INTEGER PRIMARY KEY,
  job        INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  error      TEXT NOT NULL,
  backtrace  TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX error_of_job ON error (job);

CREATE TABLE event (
  seq    INTEGER PRIMARY KEY,
  type   TEXT NOT NULL,
  job_id TEXT NOT NULL,
  queue  TEXT NOT NULL,
  at     INTEGER NOT NULL,
  data   TEXT
) STRICT;
CREATE INDEX event_of_job ON event (job_id);

CREATE TABLE unique_lock (
  queue      INTEGER NOT NULL,
  key        TEXT NOT NULL,
  job        INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX unique_lock_by_end ON unique_lock (expires_at);

CREATE TABLE dependency (
  dependency INTEGER NOT NULL,                -- the job that must complete
  dependent  INTEGER NOT NULL,                -- the job that waits
  PRIMARY KEY (dependency, dependent)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependency_of_dependent ON dependency (dependent);

-- Completed jobs that have more dependents than could be told at once.
CREATE TABLE unblocking (
  dependency INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE job_batch (
  id               TEXT PRIMARY KEY,
  namespace        TEXT NOT NULL,
  total            INTEGER NOT NULL,
  pending          INTEGER NOT NULL,
  succeeded        INTEGER NOT NULL,
  failed           INTEGER NOT NULL,
  callback_queue   TEXT,
  callback_payload TEXT,
  created_at       INTEGER NOT NULL
) STRICT;
CREATE INDEX job_batch_done ON job_batch (created_at) WHERE pending = 0;

-- Claims of throttled queues inside their window; n counts them, so that nobody counts rows.
CREATE TABLE throttle_claim (
  queue INTEGER NOT NULL,
  at    INTEGER NOT NULL,
  n     INTEGER NOT NULL,
  PRIMARY KEY (queue, at, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE worker (
  namespace      TEXT NOT NULL,
  id             TEXT NOT NULL,
  hostname       TEXT,
  queues         TEXT NOT NULL,
  started_at     INTEGER NOT NULL,
  last_heartbeat INTEGER NOT NULL,
  PRIMARY KEY (namespace, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency_key (
  namespace  TEXT NOT NULL,
  key        TEXT NOT NULL,
  digest     TEXT NOT NULL,
  answer     TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (namespace, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_key_by_end ON idempotency_key (expires_at);

-- What workers say their attempts have cost. Rows outlive their jobs.
CREATE TABLE usage (
  id                    INTEGER PRIMARY KEY,
  job_id                TEXT NOT NULL,
  queue                 TEXT NOT NULL,
  attempt               INTEGER NOT NULL,
  phase                 TEXT NOT NULL,        -- ack | heartbeat
  input_tokens          INTEGER NOT NULL,
  output_tokens         INTEGER NOT NULL,
  cache_creation_tokens INTEGER NOT NULL,
  cache_read_tokens     INTEGER NOT NULL,
  model                 TEXT NOT NULL,
  provider              TEXT NOT NULL,
  cost_usd              REAL NOT NULL,
  at                    INTEGER NOT NULL
) STRICT;
CREATE INDEX usage_by_time ON usage (at);

-- What must reach the outside world because of a commit, until it has.
CREATE TABLE outbox (
  id         INTEGER PRIMARY KEY,
  kind       TEXT NOT NULL,
  target     TEXT NOT NULL,
  body       TEXT NOT NULL,
  attempts   INTEGER NOT NULL,
  due_at     INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX outbox_due ON outbox (due_at);
