-- Version 35: where the mirrored hub has the files of mirrored repositories whose SHA-256 is known.

ALTER TABLE content ADD COLUMN since INTEGER;    -- of such a file: commit that brought it here
ALTER TABLE content ADD COLUMN path TEXT;        -- and its path in that commit; NULL: a content of another kind
UPDATE content SET since = n.since, path = n.path
    FROM (SELECT e.content, e.since, iif(e.folder = '', e.name, e.folder || '/' || e.name) AS path
          FROM account a CROSS JOIN repo r CROSS JOIN line l CROSS JOIN entry e
          WHERE a.mirrored = 1 AND r.account = a.id AND l.repo = r.id AND e.line = l.id AND e.content IS NOT NULL) n
    WHERE content.id = n.content AND content.sha256 IS NOT NULL;
CREATE INDEX content_upstream ON content(repo, sha256, id) WHERE path IS NOT NULL;
