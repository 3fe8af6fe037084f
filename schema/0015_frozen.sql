-- Version 15: a mark for an index that takes no writes, because it is being moved to another engine or from one.

ALTER TABLE state ADD COLUMN frozen INTEGER NOT NULL DEFAULT 0 CHECK(frozen BETWEEN 0 AND 2); -- 1 it is being filled, 2 it was moved out
