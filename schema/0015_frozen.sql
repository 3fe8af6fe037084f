-- Version 15: an index that takes no writes, since it is moved to another engine, or from one.

ALTER TABLE state ADD COLUMN frozen INTEGER NOT NULL DEFAULT 0 CHECK(frozen BETWEEN 0 AND 2); -- 1 it is being filled, 2 it was moved out
