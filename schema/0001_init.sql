-- The index, version 1. README.md beside this file says what each table is for and what always holds.
-- Runs on an empty file, after page_size and journal_mode are set, in one transaction.

CREATE TABLE scope(                              -- names: dedupe scopes, and repositories that own files
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE CHECK(length(name) <= 255)
) STRICT;
INSERT INTO scope VALUES(0, '');                 -- as a scope: shared by all; as an owner: the operator

CREATE TABLE state(                              -- one row
    id           INTEGER PRIMARY KEY CHECK(id = 1),
    collection   INTEGER NOT NULL,               -- grows whenever a file or a xorb is removed
    probes       INTEGER NOT NULL,               -- grows whenever someone asks whether the index can be written
    files        INTEGER NOT NULL,               -- rows of the table of that name; kept by each commit
    xorbs        INTEGER NOT NULL,
    shards       INTEGER NOT NULL,
    eligible     INTEGER NOT NULL,               -- rows of dedupe
    stored_bytes INTEGER NOT NULL                -- sum of xorb.stored
) STRICT;
INSERT INTO state VALUES(1, 0, 0, 0, 0, 0, 0, 0);

CREATE TABLE shard(                              -- an accepted upload; groups the xorbs that arrived together
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    hash       BLOB NOT NULL CHECK(length(hash) = 32),
    scope      INTEGER NOT NULL REFERENCES scope(id),
    owner      INTEGER NOT NULL REFERENCES scope(id),
    collection INTEGER NOT NULL,                 -- of state, when it was accepted; if that grew since, the shard does not count as known
    at         INTEGER NOT NULL,
    UNIQUE(hash, scope, owner)
) STRICT;

CREATE TABLE xorb(                               -- narrow: collection and fsck scan it
    id       INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused, since dedupe and terms name it
    hash     BLOB NOT NULL UNIQUE CHECK(length(hash) = 32),
    chunks   INTEGER NOT NULL CHECK(chunks BETWEEN 1 AND 8192),
    unpacked INTEGER NOT NULL,
    stored   INTEGER,                            -- bytes of the object; NULL: kept elsewhere
    at       INTEGER NOT NULL,                   -- when it arrived, or was last promised to a client
    retired  INTEGER                             -- when a collection found that no file needs it; deleted a grace time later
) STRICT;
CREATE INDEX xorb_retired ON xorb(retired) WHERE retired IS NOT NULL;

CREATE TABLE list(                               -- one row a xorb; columns in the order in which they are needed
    xorb   INTEGER PRIMARY KEY REFERENCES xorb(id),
    spans  BLOB NOT NULL,                        -- 8 bytes a chunk: u32 LE length, u32 LE end of the chunk in the object
    hashes BLOB NOT NULL                         -- 32 bytes a chunk
) STRICT;

CREATE TABLE member(                             -- neighbours: the xorbs that a shard described
    shard INTEGER NOT NULL REFERENCES shard(id),
    xorb  INTEGER NOT NULL REFERENCES xorb(id),
    PRIMARY KEY(shard, xorb)
) STRICT, WITHOUT ROWID;
CREATE INDEX member_xorb ON member(xorb);

CREATE TABLE dedupe(                             -- eligible chunks only
    prefix INTEGER NOT NULL,                     -- first 8 bytes of the hash, LE; the list proves the rest
    scope  INTEGER NOT NULL,
    xorb   INTEGER NOT NULL REFERENCES xorb(id),
    place  INTEGER NOT NULL,
    shard  INTEGER NOT NULL,                     -- the shard whose members the answer lists
    PRIMARY KEY(prefix, scope, xorb)
) STRICT, WITHOUT ROWID;
CREATE INDEX dedupe_xorb ON dedupe(xorb);

CREATE TABLE file(
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    hash   BLOB NOT NULL UNIQUE CHECK(length(hash) = 32),
    sha256 BLOB CHECK(length(sha256) = 32),      -- as the client claims it; not unique
    size   INTEGER NOT NULL,
    terms  BLOB NOT NULL,                        -- 16 bytes a term: u64 xorb id, u16 start, u16 end, u32 unpacked bytes
    at     INTEGER NOT NULL
) STRICT;
CREATE INDEX file_sha256 ON file(sha256) WHERE sha256 IS NOT NULL;

CREATE TABLE file_owner(                         -- under which repositories a file is registered; 0: readable by all
    file  INTEGER NOT NULL REFERENCES file(id),
    scope INTEGER NOT NULL REFERENCES scope(id),
    PRIMARY KEY(file, scope)
) STRICT, WITHOUT ROWID;

CREATE TABLE reference(                          -- the xorbs that each file needs; a foreign key on file would need an index
    xorb INTEGER NOT NULL REFERENCES xorb(id),
    file INTEGER NOT NULL,
    PRIMARY KEY(xorb, file)
) STRICT, WITHOUT ROWID;

PRAGMA application_id = 0x4341524e;              -- "CARN"
