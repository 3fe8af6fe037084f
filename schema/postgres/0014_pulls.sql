-- Version 14: what a pull request is for, who opened it, and how it ended. Script 19 of SQLite describes the columns.

CREATE TABLE pull(
    repo     bigint NOT NULL REFERENCES repo(id),
    number   bigint NOT NULL CHECK(number > 0),
    state    smallint NOT NULL CHECK(state BETWEEN 0 AND 2),
    base     bytea NOT NULL CHECK(octet_length(base) BETWEEN 1 AND 255),
    start    bigint NOT NULL,
    account  bigint,
    author   text COLLATE "C" NOT NULL CHECK(octet_length(author) <= 96),
    at       bigint NOT NULL,
    title    text COLLATE "C" NOT NULL,
    message  text COLLATE "C" NOT NULL,
    ended    bigint,
    ended_by text COLLATE "C" NOT NULL DEFAULT '' CHECK(octet_length(ended_by) <= 96),
    comment  text COLLATE "C" NOT NULL DEFAULT '',
    merged   text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY(repo, number)
);

INSERT INTO pull(repo, number, state, base, start, account, author, at, title, message, ended, ended_by, comment, merged)
    SELECT r.repo, convert_from(r.name, 'UTF8')::bigint,
        CASE WHEN r.commit_ = 0 THEN 0 WHEN e.title = 'Merged' AND length(e.message) = 40 THEN 2 ELSE 1 END,
        'main', f.parent, NULL, f.author, f.at, f.title, f.message, e.at, coalesce(e.author, ''),
        CASE WHEN e.title = 'Merged' THEN '' ELSE coalesce(e.message, '') END,
        CASE WHEN e.title = 'Merged' AND length(e.message) = 40 THEN e.message ELSE '' END
    FROM ref r JOIN commit_ f ON f.line = r.line
        AND f.number = (SELECT min(n.number) FROM commit_ n WHERE n.line = r.line)
        LEFT JOIN commit_ e ON e.id = r.commit_ AND r.commit_ <> 0
    WHERE r.kind = 3;
