-- Version 3: the row of a xorb names the copy of its object, so that several daemons may share a store.

ALTER TABLE xorb ADD COLUMN copy bytea CHECK(octet_length(copy) = 16); -- NULL: lost, or the store finds its only copy by the hash

CREATE TABLE dead(                                 -- copies that no row names now or later; to be removed
    copy   bytea PRIMARY KEY CHECK(octet_length(copy) = 16),
    hash   bytea NOT NULL CHECK(octet_length(hash) = 32),
    at     bigint NOT NULL,
    buried boolean NOT NULL DEFAULT false          -- its object is gone; the row goes some days later
);
CREATE INDEX dead_waiting ON dead(copy) WHERE NOT buried;
