-- Version 31: a repository counts for its quota by itself, and so does each of its former names.

-- A name that a repository has leads to it, and has led nowhere else since then.
DELETE FROM former WHERE EXISTS(SELECT 1 FROM repo n WHERE n.kind = former.kind AND n.account = former.account AND n.name = former.name AND n.dropped IS NULL);
UPDATE repo SET stored = stored + 1024 + 256 * (SELECT count(*) FROM former f WHERE f.repo = repo.id);
