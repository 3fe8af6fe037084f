-- Version 10: the expiry of an API key, and the time of its last use.

ALTER TABLE api_key ADD COLUMN expires INTEGER;      -- when it expires; NULL: never
ALTER TABLE api_key ADD COLUMN used INTEGER;         -- when it was last used, to about an hour; NULL: not since version 10
