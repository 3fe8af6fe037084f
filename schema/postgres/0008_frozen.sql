-- Version 8: a mark for an index that takes no writes, because it is being moved, as in version 15 of SQLite's.

ALTER TABLE state ADD COLUMN frozen smallint NOT NULL DEFAULT 0 CHECK(frozen BETWEEN 0 AND 2); -- 1 it is being filled, 2 it was moved out

-- Foreign keys that are off while the index is filled, because no order of rows satisfies all of them.
CREATE TABLE rule_off(
    relation   text NOT NULL,
    name       text NOT NULL,
    definition text NOT NULL,
    PRIMARY KEY(relation, name)
);
