-- Version 10: only one daemon at a time scrubs, and each knows which daemon does which job.

ALTER TABLE job ADD COLUMN who text NOT NULL DEFAULT '';      -- address of the daemon that took it last
ALTER TABLE job ADD COLUMN since bigint NOT NULL DEFAULT 0;   -- when that daemon took it, by this server's clock
ALTER TABLE job ADD COLUMN note text NOT NULL DEFAULT '';     -- its progress and orders, in the job's own format
ALTER TABLE job ADD COLUMN version bigint NOT NULL DEFAULT 0; -- number of the note: grows with each
INSERT INTO job(name) VALUES('scrub');
