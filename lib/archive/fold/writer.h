/* Writes a FOLD file, chunk by chunk. */
#ifndef CAIRN_ARCHIVE_FOLD_WRITER_H
#define CAIRN_ARCHIVE_FOLD_WRITER_H

#include "archive/fold/format.h"

/** The lengths announced for a pipe, whose header has the offset of the index, comes first, and cannot be corrected
 * later. Zeroed is empty. */
struct cairn_fold_extent {
	uint64_t bytes;       /* bytes of the chunks */
	uint64_t index_bytes; /* limit of the index, which is padded with blanks to this length */
};

/** Counts a chunk of len bytes, which will be stored uncompressed. @param parity  as in the options */
void cairn_fold_extent_add(struct cairn_fold_extent *extent, const char *name, uint64_t len, unsigned parity);

/** A file being written. Until cairn_fold_writer_finish(), the header states that there is no index, except in a pipe.
 * Memory: about 100 bytes and the name for each chunk, and one chunk. For one thread at a time. */
struct cairn_fold_writer;

struct cairn_fold_writer_options {
	int zstd_level;                         /* 0: store chunks as they are; else CAIRN_ZSTD_LEVEL_MIN .. MAX */
	unsigned parity;                        /* N of rs(N), CAIRN_PARITY_MIN .. MAX; 0: none */
	const struct cairn_fold_extent *extent; /* for a pipe, with zstd_level 0: the announced lengths; NULL: a file */
};

/** Begins an empty file.
 * @param fd  borrowed, open for writing; other code must not move its position
 * @return CAIRN_OK; CAIRN_E_LIMIT the index would be over its limit; CAIRN_E_IO, CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fold_writer_new(struct cairn_fold_writer **out, int fd,
						       const struct cairn_fold_writer_options *options);
void cairn_fold_writer_free(struct cairn_fold_writer *w);
void cairn_fold_writer_freep(struct cairn_fold_writer **w);

/** Adopts a chunk that is already in the file, after the last one. Does not read its bytes.
 * @return CAIRN_OK; CAIRN_E_LIMIT the index is full; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fold_writer_adopt(struct cairn_fold_writer *w,
							 const struct cairn_fold_chunk *chunk);

/** Appends a chunk with parity, compressed unless a sample shows no gain.
 * @param name   UTF-8, copied; the caller ensures that names are unique
 * @param ctype  four printable characters
 * @param len    at most CAIRN_FOLD_CHUNK_BYTES_MAX
 * @return CAIRN_OK; CAIRN_E_LIMIT the chunk is too long or the index full; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fold_writer_add(struct cairn_fold_writer *w, const char *name, const char *ctype,
						       const uint8_t *bytes, size_t len);

/** Appends a chunk of compressed bytes. Takes name, ctype, flags, uncomp_len and comp_len from chunk, and computes the
 * rest. @return as cairn_fold_writer_add() */
CAIRN_MUST_USE enum cairn_status cairn_fold_writer_add_packed(struct cairn_fold_writer *w,
							      const struct cairn_fold_chunk *chunk,
							      const uint8_t *comp);

/** Returns the length of the file so far. */
uint64_t cairn_fold_writer_bytes(const struct cairn_fold_writer *w);

/** Writes the index and makes the file durable, then writes the header and makes it durable. To a pipe writes only the
 * index.
 * @param metadata  text of an object; the writer replaces its members chunk_hashes and manifest_hash; NULL: {}
 * @param created   seconds since 1970 as a JSON number, "1700000000.5"
 * @return CAIRN_OK; CAIRN_E_FORMAT metadata is not an object; CAIRN_E_LIMIT the index is over its limit;
 *         CAIRN_E_MISMATCH the chunks of a pipe differ from the extent; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fold_writer_finish(struct cairn_fold_writer *w, const char *metadata,
							  const char *created);

#endif
