-- Version 18: telemetry notes by a number who sent it, so that nobody takes the room of others.

ALTER TABLE telemetry ADD COLUMN who INTEGER; -- account, key or subject, as a number; NULL: sent without tokens, or before version 18
CREATE INDEX telemetry_who ON telemetry(who, id) WHERE who IS NOT NULL;
