-- Version 20: sign-ins of programs that a person confirms in a browser (RFC 8628).

CREATE TABLE device_code(
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    device  BLOB NOT NULL UNIQUE CHECK(length(device) = 32),                 -- digest of the program's device code; the code cannot be derived from it
    code    BLOB NOT NULL UNIQUE CHECK(length(code) = 32),                   -- digest of the code that the person types
    sender  BLOB NOT NULL CHECK(length(sender) = 32),                        -- sender of the request: each may have few codes
    address TEXT NOT NULL CHECK(length(address) <= 63),                      -- address of the sender, shown to the person who confirms
    made    INTEGER NOT NULL,
    ends    INTEGER NOT NULL,
    state   INTEGER NOT NULL DEFAULT 0 CHECK(state BETWEEN 0 AND 2),         -- 0 waits, 1 allowed, 2 denied
    account INTEGER REFERENCES account(id),                                  -- if allowed: the account of the key
    parent  INTEGER,                                                         -- key of the session that allowed it; NULL: none
    name    TEXT NOT NULL DEFAULT '' CHECK(length(name) <= 255),             -- of the key
    scopes  TEXT NOT NULL DEFAULT '' CHECK(length(scopes) <= 63),
    expires INTEGER                                                          -- when the key ends; NULL: never
) STRICT;
CREATE INDEX device_code_sender ON device_code(sender, ends);
CREATE INDEX device_code_ends ON device_code(ends);
