-- Version 10: only one daemon at a time scrubs, and each knows which daemon does which job.

ALTER TABLE job ADD COLUMN who text NOT NULL DEFAULT '';      -- where the daemon is that took it last
ALTER TABLE job ADD COLUMN since bigint NOT NULL DEFAULT 0;   -- and when, by this server's clock
ALTER TABLE job ADD COLUMN note text NOT NULL DEFAULT '';     -- how far it is, and what was told of it, in the job's own words
ALTER TABLE job ADD COLUMN version bigint NOT NULL DEFAULT 0; -- of the note: grows with each
INSERT INTO job(name) VALUES('scrub');
