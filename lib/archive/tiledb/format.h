/* TileDB arrays on the disk, format version 22: numbers, names, limits. docs/formats.md has the layout in words. */
#ifndef CAIRN_ARCHIVE_TILEDB_FORMAT_H
#define CAIRN_ARCHIVE_TILEDB_FORMAT_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
	CAIRN_TILEDB_VERSION = 22,          /* the version that is written, and the newest that is read */
	CAIRN_TILEDB_VERSION_MIN = 16,      /* the oldest version that is read: older footers differ */
	CAIRN_TILEDB_VERSION_RLE_UTF8 = 17, /* first version in which RLE packs texts of UTF-8 as it does ASCII */
	CAIRN_TILEDB_FANOUT = 10,           /* children of a node of the R-tree, as written */

	/* Limits of the reader, far above what TileDB itself writes. */
	CAIRN_TILEDB_FILTERS_MAX = 8,
	CAIRN_TILEDB_DIMS_MAX = 16,
	CAIRN_TILEDB_ATTRS_MAX = 256,
	CAIRN_TILEDB_NAME_MAX = 255,      /* bytes of the name of a field, a schema or a fragment */
	CAIRN_TILEDB_LEVELS_MAX = 32,     /* levels of an R-tree */
	CAIRN_TILEDB_VALUE_MAX = 1 << 20, /* bytes of a fixed value or a fill value */
	CAIRN_TILEDB_FRAGMENTS_MAX = 1 << 16,

	/* bytes of a chunk of a tile before its filters; see cairn_tiledb_tile_pack() */
	CAIRN_TILEDB_CHUNK_BYTES = 64 * 1024,
};

#define CAIRN_TILEDB_CHUNK_BYTES_MAX  ((size_t)64 << 20)  /* one chunk of a tile, without filters */
#define CAIRN_TILEDB_TILE_BYTES_MAX   ((size_t)256 << 20) /* one tile, stored or without filters */
#define CAIRN_TILEDB_META_BYTES_MAX   ((size_t)256 << 20) /* a fragment's metadata file, stored or without filters */
#define CAIRN_TILEDB_SCHEMA_BYTES_MAX ((size_t)16 << 20)

/** The number of values in a cell if cells differ in length, as files write it. */
#define CAIRN_TILEDB_VAR UINT32_MAX

/** Types of values that Cairn writes; cairn_tiledb_type() knows all types. */
enum cairn_tiledb_datatype {
	CAIRN_TILEDB_CHAR = 4,
	CAIRN_TILEDB_UINT32 = 9,
	CAIRN_TILEDB_UINT64 = 10,
	CAIRN_TILEDB_ASCII = 11,
	CAIRN_TILEDB_UTF8 = 12,        /* only read */
	CAIRN_TILEDB_DATETIME_MS = 25, /* i64, milliseconds since 1970 */
};

/** Filters that this code reads; any other is refused. */
enum cairn_tiledb_filter_type {
	CAIRN_TILEDB_FILTER_NONE = 0,
	CAIRN_TILEDB_FILTER_GZIP = 1, /* a zlib stream, in spite of its name */
	CAIRN_TILEDB_FILTER_ZSTD = 2,
	CAIRN_TILEDB_FILTER_RLE = 4,
	CAIRN_TILEDB_FILTER_MD5 = 12,
	CAIRN_TILEDB_FILTER_SHA256 = 13,
};

/* Folders of an array, files of a fragment. */
#define CAIRN_TILEDB_SCHEMA_DIR    "__schema"
#define CAIRN_TILEDB_FRAGMENTS_DIR "__fragments"
#define CAIRN_TILEDB_COMMITS_DIR   "__commits"
#define CAIRN_TILEDB_META_FILE     "__fragment_metadata.tdb"

/** Borrowed bytes. */
struct cairn_tiledb_view {
	const uint8_t *bytes;
	size_t len;
};

#endif
