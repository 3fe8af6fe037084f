-- Version 5: an owner's claim of a SHA-256 is compared with the file's bytes, once for each file, as in version 13 of SQLite's.

CREATE TABLE proof(
    file   bigint PRIMARY KEY REFERENCES file(id) ON DELETE CASCADE,
    sha256 bytea NOT NULL CHECK(octet_length(sha256) = 32)
);

ALTER TABLE file_owner ADD COLUMN proof smallint NOT NULL DEFAULT 2 CHECK(proof BETWEEN 0 AND 3);
ALTER TABLE file_owner ADD COLUMN due bigint DEFAULT 0;
CREATE INDEX file_owner_due ON file_owner(scope, file) WHERE due IS NOT NULL AND sha256 > '';
CREATE INDEX file_owner_false ON file_owner(file) WHERE proof = 0;
