-- Version 27: what is known of mirrored repositories and of their files, and where bytes of the mirrored hub lie here.

CREATE TABLE mirror_repo(                        -- mirrored repository of which there is something to remember
    repo    bigint PRIMARY KEY REFERENCES repo(id) ON DELETE CASCADE,
    state   smallint NOT NULL CHECK(state BETWEEN 1 AND 4), -- upstream: 1: there; 2: gone; 3: private; 4: disabled
    looked  bigint NOT NULL,                     -- time of the last look at it
    every   bigint NOT NULL CHECK(every >= 0),   -- seconds after which it is fetched again; 0: only when somebody asks
    keep    smallint NOT NULL CHECK(keep IN (0, 1)), -- 1: its bytes are not evicted
    include text COLLATE "C" NOT NULL CHECK(octet_length(include) <= 1024) -- patterns of the paths that are fetched ahead; '': all
);

CREATE TABLE mirror_file(                        -- content of a mirrored repository that has bytes
    content bigint PRIMARY KEY REFERENCES content(id) ON DELETE CASCADE,
    used    bigint NOT NULL                      -- day on which somebody read it last, since 1970
);
CREATE INDEX mirror_file_used ON mirror_file(used, content);

CREATE TABLE mirror_part(                        -- part of a long content that has not come whole
    content bigint NOT NULL REFERENCES content(id) ON DELETE CASCADE,
    first   bigint NOT NULL,                     -- byte of the content with which it begins
    file    bigint NOT NULL REFERENCES file(id) ON DELETE CASCADE,
    PRIMARY KEY(content, first)
);
CREATE INDEX mirror_part_file ON mirror_part(file);

CREATE TABLE mirror_place(                       -- chunks of a xorb of the mirrored hub whose bytes are in a file here
    xorb  bytea NOT NULL CHECK(octet_length(xorb) = 32),
    repo  bigint NOT NULL,                       -- repository that alone uses them; 0: all public ones
    first bigint NOT NULL,                       -- chunk
    past  bigint NOT NULL CHECK(past > first),   -- chunk after the last one
    file  bigint NOT NULL REFERENCES file(id) ON DELETE CASCADE,
    at    bigint NOT NULL,                       -- first byte of them in the file
    PRIMARY KEY(xorb, repo, first, file)
);
CREATE INDEX mirror_place_file ON mirror_place(file);
CREATE INDEX mirror_place_repo ON mirror_place(repo);

CREATE INDEX mirror_alias_target ON mirror_alias(kind, lower(target));
