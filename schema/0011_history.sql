-- Version 11: git-like repositories: lines of commits, names for them, and the files of each commit.

-- Makes the table anew, because its CHECK must permit another kind.
CREATE TABLE repo_11(
    id      INTEGER PRIMARY KEY AUTOINCREMENT,   -- never reused, since tokens name it
    kind    INTEGER NOT NULL CHECK(kind BETWEEN 1 AND 5), -- 1 model, 2 dataset, 3 space, 4 bucket, 5 kernel
    account INTEGER NOT NULL REFERENCES account(id),
    name    TEXT NOT NULL COLLATE NOCASE CHECK(length(name) BETWEEN 1 AND 96),
    private INTEGER NOT NULL CHECK(private IN (0, 1)),
    scope   INTEGER NOT NULL REFERENCES scope(id), -- the owner of its files: hub/NUMBER, and gone/NUMBER when dropped
    created INTEGER NOT NULL,                    -- milliseconds
    updated INTEGER NOT NULL,                    -- milliseconds
    files   INTEGER NOT NULL,                    -- of a bucket: its objects; else the files at the head of main
    bytes   INTEGER NOT NULL,                    -- and the sum of their sizes
    dropped INTEGER,                             -- when it was deleted; the next collection removes its rows
    gate    INTEGER NOT NULL DEFAULT 0 CHECK(gate BETWEEN 0 AND 2),           -- 0 none, 1 auto, 2 manual
    sdk     TEXT NOT NULL DEFAULT '' CHECK(length(sdk) <= 32)                 -- of a space
) STRICT;
INSERT INTO repo_11 SELECT *, 0, '' FROM repo;
INSERT INTO sqlite_sequence(name, seq) SELECT 'repo_11', 0 WHERE NOT EXISTS(SELECT 1 FROM sqlite_sequence WHERE name = 'repo_11');
UPDATE sqlite_sequence SET seq = max(seq, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'repo'), 0))
    WHERE name = 'repo_11';
DROP TABLE repo;
ALTER TABLE repo_11 RENAME TO repo;
CREATE UNIQUE INDEX repo_name ON repo(account, kind, name) WHERE dropped IS NULL;
CREATE INDEX repo_dropped ON repo(dropped) WHERE dropped IS NOT NULL;
CREATE INDEX repo_updated ON repo(updated) WHERE dropped IS NULL;             -- lists of all, newest change first
CREATE INDEX repo_by_name ON repo(name) WHERE dropped IS NULL;

CREATE TABLE former(                             -- former names of repositories
    kind    INTEGER NOT NULL,
    account INTEGER NOT NULL REFERENCES account(id),
    name    TEXT NOT NULL COLLATE NOCASE,
    repo    INTEGER NOT NULL REFERENCES repo(id),
    PRIMARY KEY(kind, account, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX former_repo ON former(repo);

CREATE TABLE line(                               -- commits one after the other, as a branch has them
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    repo   INTEGER NOT NULL REFERENCES repo(id),
    parent INTEGER REFERENCES line(id),          -- the line that it forked from; NULL: none
    fork   INTEGER NOT NULL,                     -- the commit at which it forked; 0: none
    depth  INTEGER NOT NULL CHECK(depth BETWEEN 1 AND 8), -- lines that a lookup may read; 1: this line has all entries
    head   INTEGER NOT NULL                      -- its newest commit, or fork; 0: none yet
) STRICT;
CREATE INDEX line_repo ON line(repo);
CREATE INDEX line_parent ON line(parent) WHERE parent IS NOT NULL;

CREATE TABLE commit_(
    id      INTEGER PRIMARY KEY AUTOINCREMENT,   -- later ones have higher numbers
    repo    INTEGER NOT NULL REFERENCES repo(id),
    line    INTEGER NOT NULL REFERENCES line(id),
    number  INTEGER NOT NULL,                    -- number of commits up to this one, inclusive
    parent  INTEGER NOT NULL,                    -- id of the parent commit; 0: none
    oid     BLOB NOT NULL CHECK(length(oid) = 20),        -- its id in git
    root    BLOB NOT NULL CHECK(length(root) = 20),       -- id in git of its top folder
    at      INTEGER NOT NULL,                    -- seconds
    files   INTEGER NOT NULL,                    -- as of this commit
    bytes   INTEGER NOT NULL,
    author  TEXT NOT NULL CHECK(length(author) <= 96),
    title   TEXT NOT NULL,
    message TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX commit_oid ON commit_(repo, oid);
CREATE UNIQUE INDEX commit_line ON commit_(line, number);

CREATE TABLE ref(
    repo    INTEGER NOT NULL REFERENCES repo(id),
    kind    INTEGER NOT NULL CHECK(kind BETWEEN 1 AND 3), -- 1 branch, 2 tag, 3 pull request
    name    TEXT NOT NULL CHECK(length(CAST(name AS BLOB)) BETWEEN 1 AND 255),
    line    INTEGER NOT NULL REFERENCES line(id),
    commit_ INTEGER NOT NULL,                    -- of a tag; else 0: the line's head
    PRIMARY KEY(repo, kind, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX ref_line ON ref(line);

CREATE TABLE content(                            -- of files, each as long as an entry has it
    id     INTEGER PRIMARY KEY,
    repo   INTEGER NOT NULL,
    uses   INTEGER NOT NULL,                     -- entries that have it
    size   INTEGER NOT NULL,
    key    INTEGER,                              -- of an inline one: first 8 bytes of its git id
    body   BLOB,                                 -- of an inline one
    sha256 BLOB CHECK(length(sha256) = 32),      -- of a file of the store: as the owner claims it
    file   INTEGER REFERENCES file(id)           -- owned by the repository; NULL: inline, or deleted for good
) STRICT;
CREATE INDEX content_key ON content(repo, key) WHERE key IS NOT NULL;
CREATE INDEX content_file ON content(file, repo) WHERE file IS NOT NULL;

CREATE TABLE entry(                              -- what a path is since a commit. Rows are added, never changed
    line    INTEGER NOT NULL,
    folder  TEXT NOT NULL,                       -- '': the top one
    name    TEXT NOT NULL,
    since   INTEGER NOT NULL,                    -- the commit that changed it to this
    oid     BLOB CHECK(length(oid) = 20),        -- in git: of a blob, or of a folder's tree. NULL: nothing is there
    content INTEGER,                             -- NULL: a folder, or nothing
    PRIMARY KEY(line, folder, name, since DESC)
) STRICT, WITHOUT ROWID;

-- The time from which an owner has a file: for some time after an upload a commit may follow.
ALTER TABLE file_owner ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
UPDATE file_owner SET at = unixepoch() WHERE scope IN (SELECT scope FROM repo);
