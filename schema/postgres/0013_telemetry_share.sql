-- Version 13: telemetry records its sender as a number, so that no sender displaces the reports of others.

ALTER TABLE telemetry ADD COLUMN who bigint; -- account, key or subject, as a number; NULL: sent without tokens, or before version 13
CREATE INDEX telemetry_who ON telemetry(who, id) WHERE who IS NOT NULL;
