-- Version 16: repo.stored counts what rows take, too, and a file at least 4 KiB.

UPDATE repo AS r SET stored = coalesce(w.counts, 0) + coalesce(k.counts, 0)
    FROM repo x
    LEFT JOIN (SELECT scope, sum(greatest(f.size, 4096)) AS counts FROM (SELECT DISTINCT scope, file FROM file_owner) o
        JOIN file f ON f.id = o.file GROUP BY scope) w ON w.scope = x.scope
    LEFT JOIN (SELECT repo, sum(counts) AS counts FROM (SELECT repo, size AS counts FROM content WHERE key IS NOT NULL
        UNION ALL SELECT repo, 128 + octet_length(author) + octet_length(title) + octet_length(message) FROM commit_
        UNION ALL SELECT l.repo, 128 + octet_length(folder) + octet_length(name) FROM entry e JOIN line l ON l.id = e.line
        UNION ALL SELECT repo, 128 + octet_length(name) FROM ref
        UNION ALL SELECT repo, 128 + octet_length(title) + octet_length(message) + octet_length(comment) FROM pull
        UNION ALL SELECT repo, 128 + octet_length(path) FROM object) n GROUP BY repo) k ON k.repo = x.id
    WHERE x.id = r.id AND r.dropped IS NULL;
UPDATE scope AS s SET stored =
    (SELECT coalesce(sum((SELECT greatest(f.size, 4096) FROM file f WHERE f.id = w.file)), 0)
        FROM (SELECT DISTINCT file FROM file_owner WHERE scope + 0 = s.id) w)
    WHERE quota IS NOT NULL;
