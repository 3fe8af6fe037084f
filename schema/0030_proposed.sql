-- Version 30: files of the store in pull requests by people who may not write in the repository.

ALTER TABLE repo ADD COLUMN last_pull INTEGER NOT NULL DEFAULT 0; -- highest number of a removed pull request; numbers are never reused

CREATE TABLE proposed(
    file   INTEGER NOT NULL REFERENCES file(id) ON DELETE CASCADE,
    scope  INTEGER NOT NULL,                     -- of the repository, whose readers may read the file
    pull   INTEGER NOT NULL,                     -- number of its pull request
    line   INTEGER NOT NULL,                     -- the pull request's line
    holder INTEGER NOT NULL,                     -- scope that has the file until the merge: of the bucket to which it was uploaded
    PRIMARY KEY(file, scope, pull)
) STRICT, WITHOUT ROWID;
CREATE INDEX proposed_pull ON proposed(scope, pull);
CREATE INDEX pull_ended ON pull(ended) WHERE charged > 0 AND state = 1; -- closed ones of strangers, which are removed
