-- Version 22: the newest changes of each bucket, for clients that follow them.

CREATE TABLE feed(
    repo  INTEGER NOT NULL,                       -- the bucket
    at    INTEGER NOT NULL,                       -- milliseconds, of a batch of changes; later than those before
    paths BLOB NOT NULL CHECK(length(paths) <= 65536), -- of each change "a", "u" or "d" (added, updated, deleted), its path, and a zero byte; empty: too many
    PRIMARY KEY(repo, at)
) STRICT, WITHOUT ROWID;

-- What changed in a bucket before is not known.
INSERT INTO feed(repo, at, paths) SELECT id, updated, x'' FROM repo WHERE kind = 4 AND dropped IS NULL;
