-- Version 21: repo.stored counts what rows take, too, and a file at least 4 KiB.

UPDATE repo AS r SET stored =
    (SELECT coalesce(sum(max(f.size, 4096)), 0) FROM (SELECT DISTINCT file FROM file_owner WHERE scope = r.scope) w
        CROSS JOIN file f ON f.id = w.file)
    + (SELECT coalesce(sum(size), 0) FROM content WHERE repo = r.id AND key IS NOT NULL)
    + (SELECT coalesce(sum(128 + length(CAST(author AS BLOB)) + length(CAST(title AS BLOB)) + length(CAST(message AS BLOB))), 0)
        FROM commit_ WHERE repo = r.id)
    + (SELECT coalesce(sum(128 + length(CAST(folder AS BLOB)) + length(CAST(name AS BLOB))), 0)
        FROM line l CROSS JOIN entry e WHERE l.repo = r.id AND e.line = l.id)
    + (SELECT coalesce(sum(128 + length(CAST(name AS BLOB))), 0) FROM ref WHERE repo = r.id)
    + (SELECT coalesce(sum(128 + length(CAST(title AS BLOB)) + length(CAST(message AS BLOB)) + length(CAST(comment AS BLOB))), 0)
        FROM pull WHERE repo = r.id)
    + (SELECT coalesce(sum(128 + length(CAST(path AS BLOB))), 0) FROM object WHERE repo = r.id)
    WHERE dropped IS NULL;
UPDATE scope AS s SET stored =
    (SELECT coalesce(sum(max(f.size, 4096)), 0) FROM (SELECT DISTINCT file FROM file_owner WHERE scope = s.id) w
        CROSS JOIN file f ON f.id = w.file)
    WHERE quota IS NOT NULL;
