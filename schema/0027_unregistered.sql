-- Version 27: xorbs that somebody uploaded and that no file needs yet count for their uploaders.

CREATE TABLE unregistered(
    xorb   INTEGER PRIMARY KEY REFERENCES xorb(id) ON DELETE CASCADE,
    holder INTEGER NOT NULL,                     -- account of the repository; of another owner, its scope's number, negative
    bytes  INTEGER NOT NULL CHECK(bytes >= 0)    -- what it counts: those of its chunks, or its object's where these are fewer
) STRICT;
CREATE INDEX unregistered_holder ON unregistered(holder, bytes);
