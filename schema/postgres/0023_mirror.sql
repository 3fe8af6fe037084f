-- Version 23: namespaces of the mirrored hub, and names under which it knows repositories besides their own.

ALTER TABLE account ADD COLUMN mirrored smallint NOT NULL DEFAULT 0 CHECK(mirrored IN (0, 1)); -- 1: a namespace of the mirrored hub; nobody writes there

CREATE TABLE mirror_alias(                       -- names that the mirrored hub redirects
    kind   smallint NOT NULL CHECK(kind BETWEEN 1 AND 5),                     -- as repo.kind
    name   text COLLATE "C" NOT NULL CHECK(octet_length(name) BETWEEN 1 AND 193), -- "gpt2", or "account/name"
    target text COLLATE "C" NOT NULL CHECK(octet_length(target) BETWEEN 3 AND 193) -- "account/name"
);
CREATE UNIQUE INDEX mirror_alias_name ON mirror_alias(kind, lower(name));
