/* Writing a FOLD file, chunk by chunk. */
#ifndef CAIRN_ARCHIVE_FOLD_WRITER_H
#define CAIRN_ARCHIVE_FOLD_WRITER_H

#include "archive/fold/format.h"
#include "base/buf.h"

/** What will be written to where nothing can be put right later, a pipe: the header, which comes first, says where the
 *  index will be. Zeroed is empty. */
struct cairn_fold_extent {
	uint64_t bytes;       /* of the chunks */
	uint64_t index_bytes; /* that the index may have; blanks fill it up */
};

/** Count a chunk of len bytes, which will be stored as they are. @param parity  as in the options */
void cairn_fold_extent_add(struct cairn_fold_extent *extent, const char *name, uint64_t len, unsigned parity);

/** A file on its way. Until cairn_fold_writer_finish() its header says that it has no index, but in a pipe. In memory
 * are the entries (about 100 bytes and the name each) and one chunk. Owned by one thread at a time. */
struct cairn_fold_writer;

struct cairn_fold_writer_options {
	int zstd_level;                         /* 0: store chunks as they are; else CAIRN_ZSTD_LEVEL_MIN .. MAX */
	unsigned parity;                        /* N of rs(N), CAIRN_PARITY_MIN .. MAX; 0: none */
	const struct cairn_fold_extent *extent; /* into a pipe, with zstd_level 0: what will be written; NULL: a file */
};

/**
 * Begin an empty file.
 * @param fd  borrowed, open for writing; nobody else may move its position
 * @return CAIRN_OK; CAIRN_E_LIMIT the index of such an extent would be over its limit; CAIRN_E_IO, CAIRN_E_FULL;
 *         CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_fold_writer_new(struct cairn_fold_writer **out, int fd,
						       const struct cairn_fold_writer_options *options);
void cairn_fold_writer_free(struct cairn_fold_writer *w);
void cairn_fold_writer_freep(struct cairn_fold_writer **w);

/** Take over a chunk that stands in the file already, where the last one ended. Its bytes are not looked at.
 *  @return CAIRN_OK; CAIRN_E_LIMIT the index is full; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fold_writer_adopt(struct cairn_fold_writer *w,
							 const struct cairn_fold_chunk *chunk);

/**
 * Append a chunk: compressed, unless a sample of it shows that this does not pay, with parity.
 * @param name   UTF-8, copied; the caller sees to it that no two are equal
 * @param ctype  four printable characters
 * @param len    at most CAIRN_FOLD_CHUNK_BYTES_MAX
 * @return CAIRN_OK; CAIRN_E_LIMIT the chunk is too long, or the index is full; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_fold_writer_add(struct cairn_fold_writer *w, const char *name, const char *ctype,
						       const uint8_t *bytes, size_t len);

/** Append a chunk whose bytes are compressed already: name, ctype, flags, uncomp_len and comp_len are taken from chunk,
 *  the rest is computed. @return as cairn_fold_writer_add() */
CAIRN_MUST_USE enum cairn_status cairn_fold_writer_add_packed(struct cairn_fold_writer *w,
							      const struct cairn_fold_chunk *chunk,
							      const uint8_t *comp);

/** Bytes of the file so far. */
uint64_t cairn_fold_writer_bytes(const struct cairn_fold_writer *w);

/**
 * Write the index, then make all of it durable, then the header, and make that durable. Of a pipe the index alone.
 * @param metadata  an object's text, members of which named chunk_hashes and manifest_hash are replaced; NULL: {}
 * @param created   seconds since 1970 as JSON has them, "1700000000.5"
 * @return CAIRN_OK; CAIRN_E_FORMAT metadata is not an object; CAIRN_E_LIMIT the index is over its limit;
 *         CAIRN_E_MISMATCH into a pipe came other chunks than those of the extent; CAIRN_E_IO; CAIRN_E_FULL;
 *         CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_fold_writer_finish(struct cairn_fold_writer *w, const char *metadata,
							  const char *created);

#endif
