-- Version 8: an index that takes no writes, since it is moved to another engine, or from one. As version 15 of SQLite's.

ALTER TABLE state ADD COLUMN frozen smallint NOT NULL DEFAULT 0 CHECK(frozen BETWEEN 0 AND 2); -- 1 it is being filled, 2 it was moved out

-- Rules between tables that are off while it is filled, since its rows come in no order that all of them bear.
CREATE TABLE rule_off(
    relation   text NOT NULL,
    name       text NOT NULL,
    definition text NOT NULL,
    PRIMARY KEY(relation, name)
);
