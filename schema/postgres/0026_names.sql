-- Version 26: a repository counts for its quota by itself, and so does each of its former names.

DELETE FROM former WHERE EXISTS(SELECT 1 FROM repo n WHERE n.kind = former.kind AND n.account = former.account AND lower(n.name) = lower(former.name) AND n.dropped IS NULL);
UPDATE repo SET stored = stored + 1024 + 256 * (SELECT count(*) FROM former f WHERE f.repo = repo.id);
