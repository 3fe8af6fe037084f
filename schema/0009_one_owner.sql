-- Version 9: an owner of a file and what he says of its SHA-256 are one row. Both had two trees, which a new file had to be put into.

CREATE TABLE owner(
    file   INTEGER NOT NULL REFERENCES file(id),
    scope  INTEGER NOT NULL,                     -- numbers of names are never given back
    sha256 BLOB NOT NULL CHECK(length(sha256) IN (0, 32)), -- an owner's word, not verified; empty: none was given
    PRIMARY KEY(file, scope, sha256)
) STRICT, WITHOUT ROWID;

-- Both sides are read, and the rows written, in the order of the tree.
INSERT INTO owner(file, scope, sha256)
    SELECT o.file, o.scope, coalesce(c.sha256, x'') FROM file_owner o
    LEFT JOIN claim c INDEXED BY claim_file ON c.file = o.file AND c.scope = o.scope
    ORDER BY o.file, o.scope;
DROP TABLE claim;
DROP TABLE file_owner;
ALTER TABLE owner RENAME TO file_owner;
CREATE INDEX file_owner_claim ON file_owner(scope, sha256, file);
