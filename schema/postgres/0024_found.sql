-- Version 24: lists find repositories by a word without looking at private ones. Script 29 of SQLite describes the columns.

ALTER TABLE tag ADD COLUMN kind smallint, ADD COLUMN private boolean;
UPDATE tag SET kind = r.kind, private = r.private FROM repo r WHERE r.id = tag.repo;
DELETE FROM tag USING repo r WHERE r.id = tag.repo AND r.dropped IS NOT NULL;
ALTER TABLE tag ALTER COLUMN kind SET NOT NULL, ALTER COLUMN private SET NOT NULL;
CREATE INDEX tag_found ON tag(tag, kind, private, repo);
