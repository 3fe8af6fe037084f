-- Version 12: a key that was made with another key goes with that one; the keys of an account are found by an index.

ALTER TABLE api_key ADD COLUMN parent bigint; -- key that made it; NULL: none did. No foreign key: a row goes 90 days after its key's end, and then all made with it have ended
CREATE INDEX api_key_parent ON api_key(parent) WHERE parent IS NOT NULL;
CREATE INDEX api_key_account ON api_key(account, id) WHERE account IS NOT NULL;
