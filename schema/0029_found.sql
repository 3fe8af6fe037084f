-- Version 29: lists find repositories by a word without looking at private ones, so each word has their kind and whether they are private.

CREATE TABLE tag_29(
    repo    INTEGER NOT NULL REFERENCES repo(id) ON DELETE CASCADE,
    tag     TEXT NOT NULL CHECK(length(tag) BETWEEN 1 AND 96), -- in lower case
    kind    INTEGER NOT NULL,                                  -- kind of the repository
    private INTEGER NOT NULL CHECK(private IN (0, 1)),         -- as in repo
    PRIMARY KEY(repo, tag)
) STRICT, WITHOUT ROWID;
INSERT INTO tag_29 SELECT t.repo, t.tag, r.kind, r.private FROM tag t CROSS JOIN repo r ON r.id = t.repo WHERE r.dropped IS NULL;
DROP TABLE tag;
ALTER TABLE tag_29 RENAME TO tag;
CREATE INDEX tag_found ON tag(tag, kind, private);
