-- Version 14: quotas of owners that are not repositories of the hub.

ALTER TABLE scope ADD COLUMN quota INTEGER CHECK(quota >= 0);   -- most bytes of the files that it owns; NULL: no limit, and stored is not kept
ALTER TABLE scope ADD COLUMN stored INTEGER NOT NULL DEFAULT 0; -- sizes of these files, each once
