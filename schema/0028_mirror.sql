-- Version 28: namespaces of the mirrored hub, and names under which it knows repositories besides their own.

ALTER TABLE account ADD COLUMN mirrored INTEGER NOT NULL DEFAULT 0 CHECK(mirrored IN (0, 1)); -- 1: a namespace of the mirrored hub; nobody writes there

CREATE TABLE mirror_alias(                       -- names that the mirrored hub redirects
    kind   INTEGER NOT NULL CHECK(kind BETWEEN 1 AND 5),                      -- as repo.kind
    name   TEXT NOT NULL COLLATE NOCASE CHECK(length(name) BETWEEN 1 AND 193), -- "gpt2", or "account/name"
    target TEXT NOT NULL CHECK(length(target) BETWEEN 3 AND 193),             -- "account/name"
    PRIMARY KEY(kind, name)
) STRICT, WITHOUT ROWID;
