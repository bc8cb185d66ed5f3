-- What workers say of themselves.

ALTER TABLE worker ADD COLUMN slots INTEGER;                     -- how many jobs it runs at a time
ALTER TABLE worker ADD COLUMN draining_at INTEGER;               -- since when it takes no more jobs
