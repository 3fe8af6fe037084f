-- Version 36: what was fetched ahead of requests, and when.

ALTER TABLE mirror_repo ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;    -- grows each time the operator says what to fetch ahead
ALTER TABLE mirror_repo ADD COLUMN fetched INTEGER NOT NULL DEFAULT 0;  -- when all files that can be fetched were here last; 0: not since it was said
ALTER TABLE mirror_repo ADD COLUMN going INTEGER NOT NULL DEFAULT 0 CHECK(going IN (0, 1)); -- 1: its files are being fetched
ALTER TABLE mirror_repo ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;   -- files that could not be fetched then
ALTER TABLE mirror_repo ADD COLUMN rule TEXT NOT NULL DEFAULT '';       -- why the last of them could not
ALTER TABLE mirror_repo ADD COLUMN message TEXT NOT NULL DEFAULT '';    -- the same for people
CREATE INDEX mirror_repo_ahead ON mirror_repo(repo) WHERE every > 0;    -- finds those that are fetched ahead
