-- Version 2: API keys that an operator makes, and the telemetry of clients.

CREATE TABLE api_key(
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    digest  BLOB NOT NULL UNIQUE CHECK(length(digest) = 32), -- SHA-256 of the key, which itself is kept nowhere
    name    TEXT NOT NULL CHECK(length(name) <= 255),        -- for people
    repo    TEXT NOT NULL CHECK(length(repo) <= 255),        -- the repository it is for; '': any
    scopes  TEXT NOT NULL CHECK(length(scopes) <= 63),       -- what it allows, as in a token: "read write"
    created INTEGER NOT NULL,
    revoked INTEGER                                          -- since when it is refused; NULL: it is good
) STRICT;

CREATE TABLE telemetry(                                      -- the newest; each row added takes the ones too many away
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    sender TEXT NOT NULL CHECK(length(sender) <= 255),       -- who said it, as the daemon knows it
    body   BLOB NOT NULL CHECK(length(body) <= 65536)
) STRICT;
