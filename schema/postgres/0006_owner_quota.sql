-- Version 6: quotas of owners that are not repositories of the hub, as in version 14 of SQLite's.

ALTER TABLE scope ADD COLUMN quota bigint CHECK(quota >= 0);
ALTER TABLE scope ADD COLUMN stored bigint NOT NULL DEFAULT 0;
