-- Version 5: a term keeps where its bytes lie in the xorb's object, so that a plan needs no chunk lists: 24 bytes a term,
-- u64 xorb id, u16 start, u16 end, u32 unpacked bytes, u32 first byte, u32 end byte. The terms of version 4 are
-- rewritten in the same transaction by lib/index/sqlite/offsets.c, because SQL cannot do it.

-- Set if the places of a xorb's chunks changed after terms may have named them. Then the places in its list count, not those in terms.
ALTER TABLE xorb ADD COLUMN repacked INTEGER NOT NULL DEFAULT 0;
