-- Version 13: an owner's claim of a SHA-256 is compared with the file's bytes, once for each file.

CREATE TABLE proof(                              -- the SHA-256 of a file, computed here
    file   INTEGER PRIMARY KEY REFERENCES file(id) ON DELETE CASCADE,
    sha256 BLOB NOT NULL CHECK(length(sha256) = 32)
) STRICT;

-- The belief in an owner's claim: 0 false, 1 copied from another owner who claimed it, 2 claimed, 3 proved.
ALTER TABLE file_owner ADD COLUMN proof INTEGER NOT NULL DEFAULT 2 CHECK(proof BETWEEN 0 AND 3);
ALTER TABLE file_owner ADD COLUMN due INTEGER DEFAULT 0;  -- when it is due to be verified; NULL: it was verified
CREATE INDEX file_owner_due ON file_owner(scope, file) WHERE due IS NOT NULL AND sha256 > x'';
CREATE INDEX file_owner_false ON file_owner(file) WHERE proof = 0;
