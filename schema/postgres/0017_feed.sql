-- Version 17: the newest changes of each bucket, for clients that follow them. Script 22 of SQLite describes the columns.

CREATE TABLE feed(
    repo  bigint NOT NULL,
    at    bigint NOT NULL,
    paths bytea NOT NULL CHECK(octet_length(paths) <= 65536),
    PRIMARY KEY(repo, at)
);

-- What changed in a bucket before is not known.
INSERT INTO feed(repo, at, paths) SELECT id, updated, '' FROM repo WHERE kind = 4 AND dropped IS NULL;
