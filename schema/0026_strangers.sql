-- Version 26: pull requests by people who may not write in the repository count for their accounts until they are merged.

ALTER TABLE repo ADD COLUMN pulls_closed INTEGER NOT NULL DEFAULT 0 CHECK(pulls_closed IN (0, 1)); -- only those who may write open pull requests
ALTER TABLE repo ADD COLUMN charged INTEGER NOT NULL DEFAULT 0; -- sum of pull.charged
ALTER TABLE pull ADD COLUMN charged INTEGER NOT NULL DEFAULT 0; -- bytes that count for pull.account instead of the repository; 0: opened by somebody who may write, or merged

CREATE INDEX pull_charged ON pull(account, repo) WHERE charged > 0; -- finds the pull requests of strangers
CREATE INDEX pull_stranger ON pull(repo) WHERE charged > 0 AND state = 0;
DROP INDEX repo_stored;
CREATE INDEX repo_stored ON repo(account, stored, charged) WHERE dropped IS NULL; -- sums up what an account holds
