-- What is written with every batch is kept on few pages: each costs a commit about as much as a statement does.

-- Keys lie together by the day on which they end, so that those of past days are found without an index.
CREATE TABLE key_by_day (
  day        INTEGER NOT NULL,                  -- since 1970
  namespace  TEXT NOT NULL,
  key        TEXT NOT NULL,
  digest     TEXT NOT NULL,
  answer     TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (day, namespace, key)
) STRICT, WITHOUT ROWID;
INSERT INTO key_by_day SELECT expires_at / 86400000, namespace, key, digest, answer, expires_at FROM idempotency_key;
DROP TABLE idempotency_key;
ALTER TABLE key_by_day RENAME TO idempotency_key;

-- What happens in the current minute is added up in the queue's own row, which is written anyway.
ALTER TABLE queue ADD COLUMN minute INTEGER NOT NULL DEFAULT 0; -- the last in which anything happened
ALTER TABLE queue ADD COLUMN minute_enqueued INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue ADD COLUMN minute_completed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue ADD COLUMN minute_failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE throughput RENAME TO past_throughput;
CREATE VIEW throughput AS
SELECT minute, queue, enqueued, completed, failed
  FROM past_throughput
 UNION ALL
SELECT minute, id, minute_enqueued, minute_completed, minute_failed
  FROM queue
 WHERE minute > 0;
