-- Version 6: accounts of people and organisations, memberships, and API keys of accounts.

CREATE TABLE account(
    id       INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused
    kind     INTEGER NOT NULL CHECK(kind IN (1, 2)),                          -- 1 a user, 2 an organisation
    name     TEXT NOT NULL COLLATE NOCASE UNIQUE CHECK(length(name) BETWEEN 1 AND 96),
    fullname TEXT NOT NULL CHECK(length(fullname) <= 255),                    -- for people
    email    TEXT NOT NULL CHECK(length(email) <= 255),
    created  INTEGER NOT NULL,
    disabled INTEGER                             -- when it was disabled, so that its keys are refused; NULL: enabled
) STRICT;

CREATE TABLE membership(
    organisation INTEGER NOT NULL REFERENCES account(id),
    user         INTEGER NOT NULL REFERENCES account(id),
    role         INTEGER NOT NULL CHECK(role BETWEEN 1 AND 3),                -- 1 read, 2 write, 3 admin
    PRIMARY KEY(organisation, user)
) STRICT, WITHOUT ROWID;
CREATE INDEX membership_user ON membership(user, organisation);

ALTER TABLE api_key ADD COLUMN account INTEGER REFERENCES account(id);       -- account of the key; NULL: the operator's
