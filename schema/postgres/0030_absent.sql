-- Version 30: where the mirrored hub has the files of mirrored repositories whose SHA-256 is known.

ALTER TABLE content ADD COLUMN since bigint;     -- of such a file: commit that brought it here
ALTER TABLE content ADD COLUMN path bytea;       -- and its path in that commit; NULL: a content of another kind
UPDATE content SET since = n.since, path = n.path
    FROM (SELECT e.content, e.since, CASE WHEN e.folder = '' THEN e.name ELSE e.folder || '/'::bytea || e.name END AS path
          FROM account a JOIN repo r ON r.account = a.id JOIN line l ON l.repo = r.id JOIN entry e ON e.line = l.id
          WHERE a.mirrored = 1 AND e.content IS NOT NULL) n
    WHERE content.id = n.content AND content.sha256 IS NOT NULL;
CREATE INDEX content_upstream ON content(repo, sha256, id) WHERE path IS NOT NULL;
