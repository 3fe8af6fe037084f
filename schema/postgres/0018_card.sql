-- Version 18: cards of repositories, of their README.md and config.json at the head of main, and the words by which lists find them.

CREATE TABLE card(
    repo    bigint PRIMARY KEY REFERENCES repo(id) ON DELETE CASCADE,
    source  bytea NOT NULL CHECK(octet_length(source) = 40), -- ids in git of README.md and config.json; zeros: there is none
    task    text NOT NULL CHECK(octet_length(task) <= 96),
    library text NOT NULL CHECK(octet_length(library) <= 96),
    tags    text NOT NULL CHECK(octet_length(tags) < 8192), -- JSON, as the rest
    data    text NOT NULL CHECK(octet_length(data) < 65536),
    config  text NOT NULL CHECK(octet_length(config) < 4096)
);

CREATE TABLE tag(
    repo bigint NOT NULL REFERENCES repo(id) ON DELETE CASCADE,
    tag  text COLLATE "C" NOT NULL CHECK(octet_length(tag) BETWEEN 1 AND 96), -- in lower case
    PRIMARY KEY(repo, tag)
);
