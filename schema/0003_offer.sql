-- Version 3: an answer to a chunk query finds the eligible chunks of a xorb in this index alone. Without the places in it, the answer
-- would read a page of dedupe for each chunk.

DROP INDEX dedupe_xorb;
CREATE INDEX dedupe_xorb ON dedupe(xorb, scope, place);
