-- Version 25: who asked to read the files of a repository with a gate, or was let in.

CREATE TABLE access_request(
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    repo    INTEGER NOT NULL REFERENCES repo(id) ON DELETE CASCADE,
    account INTEGER NOT NULL REFERENCES account(id),
    request BLOB NOT NULL UNIQUE CHECK(length(request) = 12),               -- its id for clients: random, since numbers would tell how many there are
    state   INTEGER NOT NULL CHECK(state BETWEEN 1 AND 3),                  -- 1 pending, 2 accepted, 3 rejected
    asked   INTEGER,                                                        -- milliseconds; NULL: let in without having asked
    at      INTEGER NOT NULL,                                               -- of the last change of state
    reason  TEXT NOT NULL DEFAULT '' CHECK(length(reason) <= 200),          -- of a rejection, for the account
    UNIQUE(repo, account)
) STRICT;
CREATE INDEX access_request_state ON access_request(repo, state, id);
CREATE INDEX access_request_account ON access_request(account, state);
