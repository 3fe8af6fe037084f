-- Version 32: what is known of mirrored repositories and of their files, and where bytes of the mirrored hub lie here.

CREATE TABLE mirror_repo(                        -- mirrored repository of which there is something to remember
    repo    INTEGER PRIMARY KEY REFERENCES repo(id) ON DELETE CASCADE,
    state   INTEGER NOT NULL CHECK(state BETWEEN 1 AND 4), -- upstream: 1: there; 2: gone; 3: private; 4: disabled
    looked  INTEGER NOT NULL,                    -- time of the last look at it
    every   INTEGER NOT NULL CHECK(every >= 0),  -- seconds after which it is fetched again; 0: only when somebody asks
    keep    INTEGER NOT NULL CHECK(keep IN (0, 1)), -- 1: its bytes are not evicted
    include TEXT NOT NULL CHECK(length(include) <= 1024) -- patterns of the paths that are fetched ahead; '': all
) STRICT;

CREATE TABLE mirror_file(                        -- content of a mirrored repository that has bytes
    content INTEGER PRIMARY KEY REFERENCES content(id) ON DELETE CASCADE,
    used    INTEGER NOT NULL                     -- day on which somebody read it last, since 1970
) STRICT;
CREATE INDEX mirror_file_used ON mirror_file(used, content);

CREATE TABLE mirror_part(                        -- part of a long content that has not come whole
    content INTEGER NOT NULL REFERENCES content(id) ON DELETE CASCADE,
    first   INTEGER NOT NULL,                    -- byte of the content with which it begins
    file    INTEGER NOT NULL REFERENCES file(id) ON DELETE CASCADE,
    PRIMARY KEY(content, first)
) STRICT, WITHOUT ROWID;
CREATE INDEX mirror_part_file ON mirror_part(file);

CREATE TABLE mirror_place(                       -- chunks of a xorb of the mirrored hub whose bytes are in a file here
    xorb  BLOB NOT NULL CHECK(length(xorb) = 32),
    repo  INTEGER NOT NULL,                      -- repository that alone uses them; 0: all public ones
    first INTEGER NOT NULL,                      -- chunk
    past  INTEGER NOT NULL CHECK(past > first),  -- chunk after the last one
    file  INTEGER NOT NULL REFERENCES file(id) ON DELETE CASCADE,
    at    INTEGER NOT NULL,                      -- first byte of them in the file
    PRIMARY KEY(xorb, repo, first, file)
) STRICT, WITHOUT ROWID;
CREATE INDEX mirror_place_file ON mirror_place(file);
CREATE INDEX mirror_place_repo ON mirror_place(repo);

CREATE INDEX mirror_alias_target ON mirror_alias(kind, target COLLATE NOCASE);
