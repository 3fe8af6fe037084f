-- Version 34: which mirrored repositories hold most bytes, and which were read least lately.

ALTER TABLE repo ADD COLUMN mirrored INTEGER NOT NULL DEFAULT 0 CHECK(mirrored IN (0, 1)); -- 1: a repository of the mirrored hub
UPDATE repo SET mirrored = 1 WHERE account IN (SELECT id FROM account WHERE mirrored = 1);
CREATE INDEX repo_mirrored ON repo(stored) WHERE mirrored = 1 AND dropped IS NULL; -- finds the largest

ALTER TABLE mirror_file ADD COLUMN repo INTEGER NOT NULL DEFAULT 0; -- repository of the content
UPDATE mirror_file SET repo = (SELECT c.repo FROM content c WHERE c.id = mirror_file.content);
CREATE INDEX mirror_file_repo ON mirror_file(repo, used);

ALTER TABLE mirror_repo ADD COLUMN used INTEGER NOT NULL DEFAULT 0; -- latest day of its rows of mirror_file; 0: it has none
UPDATE mirror_repo SET used = coalesce((SELECT max(f.used) FROM mirror_file f WHERE f.repo = mirror_repo.repo), 0);
CREATE INDEX mirror_repo_used ON mirror_repo(used, repo) WHERE used > 0; -- finds those that were read least lately
