-- Version 9: what a page or a look-up asks for is found by an index, whatever PostgreSQL expects of the values that it does not know.

-- Who asks for one file of one owner finds it by the key of the table. An index that began with the owner looked as good where most
-- owners have a file or two, and then the owner of 100,000 read them all. Questions that mean this one say "scope + 0".
DROP INDEX file_owner_claim;
CREATE INDEX file_owner_claim ON file_owner((scope + 0), sha256, file);
CREATE INDEX file_owner_sha256 ON file_owner(sha256) WHERE sha256 > '';                    -- whoever's
CREATE INDEX repo_account ON repo(account, updated, id) WHERE dropped IS NULL;             -- a page of one account
CREATE INDEX repo_quota ON repo(account) WHERE quota IS NOT NULL AND dropped IS NULL;      -- the few that have one
CREATE INDEX account_quota ON account(id) WHERE quota IS NOT NULL;
CREATE INDEX scope_quota ON scope(id) WHERE quota IS NOT NULL;
