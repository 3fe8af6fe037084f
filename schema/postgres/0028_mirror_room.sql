-- Version 28: xorbs that are offered to nobody any more, and who fetches a file of the mirrored hub.

ALTER TABLE xorb ADD COLUMN withdrawn bigint;    -- since when its chunks are offered to nobody, as only mirrored files need
                                                 -- it that are to go next; NULL: they are offered
CREATE INDEX xorb_withdrawn ON xorb(withdrawn) WHERE withdrawn IS NOT NULL;

CREATE TABLE mirror_lease(                       -- content of a mirrored repository that one daemon fetches for all that share the index
    content bigint PRIMARY KEY REFERENCES content(id) ON DELETE CASCADE,
    holder  text NOT NULL,                       -- where that daemon runs, for people
    until   timestamptz NOT NULL,                -- by this server's clock; afterwards another daemon may take it over
    fence   bigint NOT NULL                      -- grows with each daemon that takes it over: a part of an older one is refused
);
