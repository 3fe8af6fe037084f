-- Version 14: how much may be registered under an owner that is no repository of the hub.

ALTER TABLE scope ADD COLUMN quota INTEGER CHECK(quota >= 0);   -- bytes of the files that it owns; NULL: any number, and stored is not kept
ALTER TABLE scope ADD COLUMN stored INTEGER NOT NULL DEFAULT 0; -- sizes of these files, each once
