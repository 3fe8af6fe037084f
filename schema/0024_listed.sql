-- Version 24: lists look only at repositories that the viewer may see: public ones of a kind, and those of an account.

DROP INDEX repo_updated;
DROP INDEX repo_by_name;
CREATE INDEX repo_updated ON repo(private, kind, updated) WHERE dropped IS NULL;
CREATE INDEX repo_created ON repo(private, kind) WHERE dropped IS NULL;
CREATE INDEX repo_named ON repo(private, kind, name) WHERE dropped IS NULL;
CREATE INDEX repo_account_updated ON repo(account, private, updated) WHERE dropped IS NULL;
CREATE INDEX repo_account_created ON repo(account, private) WHERE dropped IS NULL;
CREATE INDEX repo_account_named ON repo(account, private, name) WHERE dropped IS NULL;
