/* Reads the bytes of a file, or of a range, from its xorbs. Unpacks and hashes each chunk before it returns any of it.
 * Used to answer a plain GET, and to prove the SHA-256 of a file. */
#ifndef CAIRN_CAS_SERVE_FILE_READER_H
#define CAIRN_CAS_SERVE_FILE_READER_H

#include "cas/serve/plan.h"

/** A reader of a range of a file, from front to end. Takes less than 2 MiB, and one byte per term: a window of the
 * file's terms, some chunk lists and one chunk. While a window is read, at most 32 times for a file, the index takes
 * another 48 bytes per term. Keeps one object open. For one thread at a time. */
struct cairn_file_reader;

/** The size of the file, and the range that is read. */
struct cairn_file_extent {
	uint64_t file_bytes; /* size of the whole file */
	uint64_t first, end; /* the range, end exclusive; both 0 for an empty file */
};

/** Opens a file and reads its first chunk, so that a failure is known before an answer has begun. Waits for the disk,
 * as cairn_file_reader_read() does; both are for workers.
 * @param viewer  on whose behalf; NULL: all files may be read. Copied
 * @param[out] extent  set with CAIRN_OK; with CAIRN_E_LIMIT only file_bytes
 * @param[out] out     owned by the caller, cairn_file_reader_free()
 * @return CAIRN_OK; CAIRN_E_LIMIT the range starts past the end; as cairn_file_reader_read() */
CAIRN_MUST_USE enum cairn_status cairn_file_reader_open(struct cairn_cas *cas, const char *viewer,
							const struct cairn_hash *file,
							const struct cairn_byte_range *range,
							struct cairn_file_extent *extent,
							struct cairn_file_reader **out, struct cairn_diag *diag);

/** Reads the next bytes. Handles damaged or missing objects as a fetch does: reads another copy instead, and marks a
 * xorb without a sound copy as lost. If the whole file is read, its chunks must yield its hash before the last one is
 * returned. After a failure the call may be repeated.
 * @param max  at least 1
 * @param[out] n  bytes written to out: max, or fewer at the end of the range and before a chunk that cannot be read. 0
 *                with CAIRN_OK: the range was read
 * @return CAIRN_OK
 *         CAIRN_E_NOT_FOUND  unknown, or the viewer may not read it; this may change between calls
 *         CAIRN_E_CONFLICT   a xorb of it is gone, or the index contradicts itself
 *         CAIRN_E_DAMAGED    stored bytes are damaged or missing, and no copy is sound (object.damaged, object.missing)
 *         CAIRN_E_BUSY       damage was found, and the index accepts no writes; or index or store do not answer
 *         CAIRN_E_IO         the bytes cannot be read now (object.unreadable)
 *         CAIRN_E_FULL, CAIRN_E_FORMAT, CAIRN_E_LIMIT, CAIRN_E_NOMEM  as index and store */
CAIRN_MUST_USE enum cairn_status cairn_file_reader_read(struct cairn_file_reader *r, uint8_t *out, size_t max,
							size_t *n, struct cairn_diag *diag);

/** NULL is harmless. */
void cairn_file_reader_free(struct cairn_file_reader *r);
void cairn_file_reader_freep(struct cairn_file_reader **r);

#endif
