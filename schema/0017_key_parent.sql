-- Version 17: a key that was made with another key is revoked with it; an index finds the keys of an account.

ALTER TABLE api_key ADD COLUMN parent INTEGER; -- key that made it; NULL: none did. No foreign key: a row is deleted 90 days after its key ended, and all keys made with it ended before
CREATE INDEX api_key_parent ON api_key(parent) WHERE parent IS NOT NULL;
CREATE INDEX api_key_account ON api_key(account, id) WHERE account IS NOT NULL;
