-- Version 2: API keys that an operator makes, and the telemetry of clients.

CREATE TABLE api_key(
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    digest  BLOB NOT NULL UNIQUE CHECK(length(digest) = 32), -- SHA-256 of the key; the key itself is not stored
    name    TEXT NOT NULL CHECK(length(name) <= 255),        -- for people
    repo    TEXT NOT NULL CHECK(length(repo) <= 255),        -- the only repository that it opens; '': any
    scopes  TEXT NOT NULL CHECK(length(scopes) <= 63),       -- what it allows, as in a token: "read write"
    created INTEGER NOT NULL,
    revoked INTEGER                                          -- when it was revoked; NULL: not revoked
) STRICT;

CREATE TABLE telemetry(                                      -- the newest reports; adding a row removes those beyond a limit
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    sender TEXT NOT NULL CHECK(length(sender) <= 255),       -- the sender, as the daemon knows it
    body   BLOB NOT NULL CHECK(length(body) <= 65536)
) STRICT;
