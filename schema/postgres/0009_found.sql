-- Version 9: indexes for pages and look-ups, which PostgreSQL chooses whatever it assumes about unknown values.

-- A query for one file of one owner must use the key of the table. An index that began with the owner looked as good if most
-- owners had a file or two; then a query for an owner of 100,000 files read them all. Queries that need that index write "scope + 0".
DROP INDEX file_owner_claim;
CREATE INDEX file_owner_claim ON file_owner((scope + 0), sha256, file);
CREATE INDEX file_owner_sha256 ON file_owner(sha256) WHERE sha256 > '';                    -- whoever's
CREATE INDEX repo_account ON repo(account, updated, id) WHERE dropped IS NULL;             -- a page of one account
CREATE INDEX repo_quota ON repo(account) WHERE quota IS NOT NULL AND dropped IS NULL;      -- finds the few repositories that have a quota
CREATE INDEX account_quota ON account(id) WHERE quota IS NOT NULL;
CREATE INDEX scope_quota ON scope(id) WHERE quota IS NOT NULL;
