-- Version 23: cards of repositories, of their README.md and config.json at the head of main, and the words by which lists find them.

CREATE TABLE card(
    repo    INTEGER PRIMARY KEY REFERENCES repo(id) ON DELETE CASCADE,
    source  BLOB NOT NULL CHECK(length(source) = 40), -- ids in git of README.md and config.json; zeros: there is none
    task    TEXT NOT NULL CHECK(length(task) <= 96),
    library TEXT NOT NULL CHECK(length(library) <= 96),
    tags    TEXT NOT NULL CHECK(length(tags) < 8192), -- JSON, as the rest
    data    TEXT NOT NULL CHECK(length(data) < 65536),
    config  TEXT NOT NULL CHECK(length(config) < 4096)
) STRICT;

CREATE TABLE tag(
    repo INTEGER NOT NULL REFERENCES repo(id) ON DELETE CASCADE,
    tag  TEXT NOT NULL CHECK(length(tag) BETWEEN 1 AND 96), -- in lower case
    PRIMARY KEY(repo, tag)
) STRICT, WITHOUT ROWID;
