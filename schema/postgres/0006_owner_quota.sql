-- Version 6: how much may be registered under an owner that is no repository of the hub. As version 14 of SQLite's.

ALTER TABLE scope ADD COLUMN quota bigint CHECK(quota >= 0);
ALTER TABLE scope ADD COLUMN stored bigint NOT NULL DEFAULT 0;
