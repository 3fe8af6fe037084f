-- Version 7: repositories of the hub, and the objects of buckets.

CREATE TABLE repo(
    id      INTEGER PRIMARY KEY AUTOINCREMENT,   -- never reused, since tokens name it
    kind    INTEGER NOT NULL CHECK(kind BETWEEN 1 AND 4),                     -- 1 model, 2 dataset, 3 space, 4 bucket
    account INTEGER NOT NULL REFERENCES account(id),
    name    TEXT NOT NULL COLLATE NOCASE CHECK(length(name) BETWEEN 1 AND 96),
    private INTEGER NOT NULL CHECK(private IN (0, 1)),
    scope   INTEGER NOT NULL REFERENCES scope(id), -- the owner of its files: hub/NUMBER, and gone/NUMBER when dropped
    created INTEGER NOT NULL,                    -- milliseconds
    updated INTEGER NOT NULL,                    -- milliseconds
    files   INTEGER NOT NULL,                    -- of a bucket: its objects
    bytes   INTEGER NOT NULL,                    -- and the sum of their sizes
    dropped INTEGER                              -- when it was deleted; the next collection removes its rows
) STRICT;
CREATE UNIQUE INDEX repo_name ON repo(account, kind, name) WHERE dropped IS NULL;
CREATE INDEX repo_dropped ON repo(dropped) WHERE dropped IS NOT NULL;

CREATE TABLE object(
    repo     INTEGER NOT NULL REFERENCES repo(id),
    path     TEXT NOT NULL CHECK(length(CAST(path AS BLOB)) BETWEEN 1 AND 1024),
    file     INTEGER REFERENCES file(id),        -- owned by the repository; NULL: the empty file
    mtime    INTEGER,                            -- milliseconds; what the client said
    uploaded INTEGER NOT NULL,                   -- milliseconds
    type     TEXT NOT NULL CHECK(length(type) <= 127), -- what the client said; '': nothing
    PRIMARY KEY(repo, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX object_file ON object(file, repo);  -- tells whether a repository still uses a file
