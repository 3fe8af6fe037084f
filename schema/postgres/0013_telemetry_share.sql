-- Version 13: telemetry notes by a number who sent it, so that nobody takes the room of others.

ALTER TABLE telemetry ADD COLUMN who bigint; -- account, key or subject, as a number; NULL: sent without tokens, or before version 13
CREATE INDEX telemetry_who ON telemetry(who, id) WHERE who IS NOT NULL;
