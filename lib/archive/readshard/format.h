/* Read Shard, the archive format of Software Heritage (swh.shard): many objects in one file, found by a minimal perfect
 * hash. Header, index and sizes are big-endian, the hash function is little-endian. docs/formats.md has the layout. */
#ifndef CAIRN_ARCHIVE_READSHARD_FORMAT_H
#define CAIRN_ARCHIVE_READSHARD_FORMAT_H

#include <stdint.h>

enum {
	CAIRN_READSHARD_KEY_BYTES = 32,
	CAIRN_READSHARD_NAME_BYTES = 9, /* bytes that readers compare: "SWHShard" and one zero */
	CAIRN_READSHARD_VERSION = 1,
	/* Offsets of the header's fields, u64 each. */
	CAIRN_READSHARD_VERSION_AT = 32,
	CAIRN_READSHARD_COUNT_AT = 40,
	CAIRN_READSHARD_OBJECTS_AT = 48,
	CAIRN_READSHARD_OBJECTS_BYTES_AT = 56,
	CAIRN_READSHARD_INDEX_AT = 64,
	CAIRN_READSHARD_INDEX_BYTES_AT = 72,
	CAIRN_READSHARD_FUNCTION_AT = 80,
	CAIRN_READSHARD_HEADER_BYTES = 88,
	/* offset at which writers put the first object; zeros fill the space before it */
	CAIRN_READSHARD_OBJECTS_START = 512,
	CAIRN_READSHARD_SIZE_BYTES = 8,  /* bytes of the size before each object */
	CAIRN_READSHARD_SLOT_BYTES = 40, /* bytes of a slot: key, offset of the object's size */
	/* The most objects that this writer accepts, each 60 bytes of memory. A file's length limits readers. */
	CAIRN_READSHARD_OBJECTS_MAX = 1 << 24,
};

/** Offset of a slot that is free, or whose object was deleted. */
#define CAIRN_READSHARD_NO_OFFSET UINT64_MAX

#define CAIRN_READSHARD_NAME "SWHShard"

#endif
