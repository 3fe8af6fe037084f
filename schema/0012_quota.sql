-- Version 12: quotas of accounts and repositories, and the bytes that a repository holds.

ALTER TABLE account ADD COLUMN quota INTEGER CHECK(quota >= 0);  -- most bytes of all its repositories; NULL: no limit
ALTER TABLE repo ADD COLUMN quota INTEGER CHECK(quota >= 0);     -- most bytes of this repository; NULL: no limit
ALTER TABLE repo ADD COLUMN stored INTEGER NOT NULL DEFAULT 0;   -- sizes of the files that it owns, and of its inline contents, each once
CREATE INDEX repo_scope ON repo(scope);
CREATE INDEX repo_stored ON repo(account, stored) WHERE dropped IS NULL; -- sums up what an account holds

UPDATE repo AS r SET stored =
    (SELECT coalesce(sum(f.size), 0) FROM (SELECT DISTINCT file FROM file_owner WHERE scope = r.scope) w
        CROSS JOIN file f ON f.id = w.file)
    + (SELECT coalesce(sum(size), 0) FROM content WHERE repo = r.id AND key IS NOT NULL);
