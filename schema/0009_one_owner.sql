-- Version 9: one row has the owner of a file and the claim of its SHA-256. Before, a new file had to be added to four trees.

CREATE TABLE owner(
    file   INTEGER NOT NULL REFERENCES file(id),
    scope  INTEGER NOT NULL,                     -- number of the owner's name; never reused
    sha256 BLOB NOT NULL CHECK(length(sha256) IN (0, 32)), -- as the owner claims it, not verified; empty: no claim
    PRIMARY KEY(file, scope, sha256)
) STRICT, WITHOUT ROWID;

-- Reads both tables, and writes the rows, in the order of the tree.
INSERT INTO owner(file, scope, sha256)
    SELECT o.file, o.scope, coalesce(c.sha256, x'') FROM file_owner o
    LEFT JOIN claim c INDEXED BY claim_file ON c.file = o.file AND c.scope = o.scope
    ORDER BY o.file, o.scope;
DROP TABLE claim;
DROP TABLE file_owner;
ALTER TABLE owner RENAME TO file_owner;
CREATE INDEX file_owner_claim ON file_owner(scope, sha256, file);
