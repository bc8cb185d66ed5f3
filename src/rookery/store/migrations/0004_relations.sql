-- What each job was told to wait for, as its `depends_on` says, for as long as the job is kept: `dependency` only has
-- those that somebody still waits for.
CREATE TABLE named_dependency (
  id  TEXT NOT NULL,                          -- of the job that had to complete, which may be gone
  job INTEGER NOT NULL,                       -- the job that waits, or has waited
  PRIMARY KEY (id, job)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO named_dependency SELECT given.value, job.seq FROM job, json_each(job.depends_on) AS given;
