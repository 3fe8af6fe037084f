-- Version 5: a term keeps where its bytes lie in the xorb's object, so that a plan needs no chunk lists: 24 bytes a term,
-- u64 xorb id, u16 start, u16 end, u32 unpacked bytes, u32 first byte, u32 end byte. The terms of the version before are
-- rewritten in the same transaction by lib/index/sqlite/offsets.c, since SQL cannot.

-- The places of its chunks changed after terms may have named it: what they keep of it does not count, its list does.
ALTER TABLE xorb ADD COLUMN repacked INTEGER NOT NULL DEFAULT 0;
