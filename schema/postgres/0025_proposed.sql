-- Version 25: files of the store in pull requests by people who may not write in the repository. Script 30 of SQLite describes the columns.

ALTER TABLE repo ADD COLUMN last_pull bigint NOT NULL DEFAULT 0;

CREATE TABLE proposed(
    file   bigint NOT NULL REFERENCES file(id) ON DELETE CASCADE,
    scope  bigint NOT NULL,
    pull   bigint NOT NULL,
    line   bigint NOT NULL,
    holder bigint NOT NULL,
    PRIMARY KEY(file, scope, pull)
);
CREATE INDEX proposed_pull ON proposed(scope, pull);
CREATE INDEX pull_ended ON pull(ended) WHERE charged > 0 AND state = 1;
