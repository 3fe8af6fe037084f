-- Version 4: counters that tell daemons that share an index about each other's writes.

ALTER TABLE state ADD COLUMN keys bigint NOT NULL DEFAULT 0;      -- grows whenever an API key is made or revoked, or an account disabled
ALTER TABLE state ADD COLUMN withdrawn bigint NOT NULL DEFAULT 0; -- grows whenever a xorb is no longer offered to clients
