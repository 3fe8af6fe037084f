-- Version 19: what a pull request is for, who opened it, and how it ended. Before, commits of its own said so.

CREATE TABLE pull(
    repo     INTEGER NOT NULL REFERENCES repo(id),
    number   INTEGER NOT NULL CHECK(number > 0),  -- its ref has this name
    state    INTEGER NOT NULL CHECK(state BETWEEN 0 AND 2), -- 0 open, 1 closed, 2 merged
    base     TEXT NOT NULL CHECK(length(CAST(base AS BLOB)) BETWEEN 1 AND 255), -- the branch that it is for
    start    INTEGER NOT NULL,                    -- the number of the commit where it left that branch
    account  INTEGER,                             -- who opened it; NULL: an operator, or before this version
    author   TEXT NOT NULL CHECK(length(author) <= 96), -- as the account was called then
    at       INTEGER NOT NULL,                    -- seconds
    title    TEXT NOT NULL,
    message  TEXT NOT NULL,
    ended    INTEGER,                             -- seconds; NULL: it is open
    ended_by TEXT NOT NULL DEFAULT '' CHECK(length(ended_by) <= 96),
    comment  TEXT NOT NULL DEFAULT '',            -- by the person who ended it
    merged   TEXT NOT NULL DEFAULT '',            -- of a merged one: the id of the commit of the branch
    PRIMARY KEY(repo, number)
) STRICT, WITHOUT ROWID;

INSERT INTO pull(repo, number, state, base, start, account, author, at, title, message, ended, ended_by, comment, merged)
    SELECT r.repo, CAST(r.name AS INTEGER),
        CASE WHEN r.commit_ = 0 THEN 0 WHEN e.title = 'Merged' AND length(e.message) = 40 THEN 2 ELSE 1 END,
        'main', f.parent, NULL, f.author, f.at, f.title, f.message, e.at, coalesce(e.author, ''),
        CASE WHEN e.title = 'Merged' THEN '' ELSE coalesce(e.message, '') END,
        CASE WHEN e.title = 'Merged' AND length(e.message) = 40 THEN e.message ELSE '' END
    FROM ref r JOIN commit_ f ON f.line = r.line
        AND f.number = (SELECT min(n.number) FROM commit_ n WHERE n.line = r.line)
        LEFT JOIN commit_ e ON e.id = r.commit_ AND r.commit_ <> 0
    WHERE r.kind = 3;
