-- Version 33: xorbs that are offered to nobody any more.

ALTER TABLE xorb ADD COLUMN withdrawn INTEGER;   -- since when its chunks are offered to nobody, as only mirrored files need
                                                 -- it that are to go next; NULL: they are offered
CREATE INDEX xorb_withdrawn ON xorb(withdrawn) WHERE withdrawn IS NOT NULL;
