-- Version 7: sessions of browsers, which all daemons accept; and jobs that one daemon at a time does for all of them.

CREATE TABLE session(
    digest  bytea PRIMARY KEY CHECK(octet_length(digest) = 32), -- digest of the browser's cookie; the cookie cannot be derived from it
    key     bytea NOT NULL CHECK(octet_length(key) = 32),       -- digest of the API key
    account bigint NOT NULL,                                    -- 0: an operator's key
    ends    bigint NOT NULL,
    id      bigint GENERATED ALWAYS AS IDENTITY                 -- later sessions have higher ids
);
CREATE INDEX session_of ON session(account, ends);
CREATE INDEX session_ends ON session(ends);

CREATE TABLE job(
    name  text PRIMARY KEY,
    epoch bigint NOT NULL DEFAULT 0,                         -- grows with each daemon that takes it over: a write of an older one is refused
    until timestamptz NOT NULL DEFAULT '-infinity',          -- by this server's clock; afterwards another daemon may take it over
    ran   bigint NOT NULL DEFAULT 0,                         -- when it last ended successfully; 0: never
    good  bigint NOT NULL DEFAULT 0
);
INSERT INTO job(name) VALUES('collect'), ('prove'), ('usage');
