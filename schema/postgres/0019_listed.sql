-- Version 19: lists look only at repositories that the viewer may see: public ones of a kind, and those of an account.

DROP INDEX repo_updated;
DROP INDEX repo_by_name;
DROP INDEX repo_account;
CREATE INDEX repo_updated ON repo(private, kind, updated, id) WHERE dropped IS NULL;
CREATE INDEX repo_created ON repo(private, kind, (id + 0)) WHERE dropped IS NULL;
CREATE INDEX repo_named ON repo(private, kind, lower(name), id) WHERE dropped IS NULL;
CREATE INDEX repo_account_updated ON repo(account, private, updated, id) WHERE dropped IS NULL;
CREATE INDEX repo_account_created ON repo(account, private, (id + 0)) WHERE dropped IS NULL;
CREATE INDEX repo_account_named ON repo(account, private, lower(name), id) WHERE dropped IS NULL;
