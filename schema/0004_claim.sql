-- Version 4: each owner of a file claims its SHA-256. Before, the claim of the first owner counted for all.

CREATE TABLE claim(                              -- an owner's claim, not verified; deleted with the file_owner row
    scope  INTEGER NOT NULL,                     -- the owner
    sha256 BLOB NOT NULL CHECK(length(sha256) = 32),
    file   INTEGER NOT NULL,
    PRIMARY KEY(scope, sha256, file),
    FOREIGN KEY(file, scope) REFERENCES file_owner(file, scope) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Nobody knows which owner made the claim, so it becomes a claim of each. Reads in the order of the old index, so that rows are added
-- at the end of the tree.
INSERT INTO claim(scope, sha256, file)
    SELECT o.scope, f.sha256, f.id FROM file f INDEXED BY file_sha256 CROSS JOIN file_owner o ON o.file = f.id
    WHERE f.sha256 IS NOT NULL ORDER BY f.sha256;
DROP INDEX file_sha256;
CREATE INDEX claim_file ON claim(file, scope);   -- finds the claims that are deleted with a file_owner row

ALTER TABLE file DROP COLUMN sha256;

-- An owner whose claim was not kept can claim again: no shard counts as known until it is uploaded once more.
UPDATE state SET collection = collection + 1;
