-- Version 10: until when a key is good, and when it was last used.

ALTER TABLE api_key ADD COLUMN expires INTEGER;      -- from when on it is refused; NULL: never
ALTER TABLE api_key ADD COLUMN used INTEGER;         -- when it was last used, to about an hour; NULL: not since version 10
