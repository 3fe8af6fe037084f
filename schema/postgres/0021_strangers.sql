-- Version 21: pull requests by people who may not write in the repository count for their accounts until they are merged. Script 26 of SQLite describes the columns.

ALTER TABLE repo ADD COLUMN pulls_closed boolean NOT NULL DEFAULT false;
ALTER TABLE repo ADD COLUMN charged bigint NOT NULL DEFAULT 0;
ALTER TABLE pull ADD COLUMN charged bigint NOT NULL DEFAULT 0;

CREATE INDEX pull_charged ON pull(account, repo) WHERE charged > 0;
CREATE INDEX pull_stranger ON pull(repo) WHERE charged > 0 AND state = 0;
DROP INDEX repo_stored;
CREATE INDEX repo_stored ON repo(account, stored, charged) WHERE dropped IS NULL;
