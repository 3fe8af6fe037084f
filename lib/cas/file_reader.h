/* The bytes of a file, or of a range of it: read from the xorbs, unpacked, and each chunk hashed before any of it is
 * handed out. For whoever answers a plain GET, and for whoever proves what a file is. */
#ifndef CAIRN_CAS_FILE_READER_H
#define CAIRN_CAS_FILE_READER_H

#include "cas/plan.h"

/** A file being read, from the front of a range to its end. Takes less than 2 MiB, whatever the file: a window of its
 * terms, some chunk lists and one chunk (except for the moment in which a window is read, for which the index takes 48
 * bytes for each of the file's terms). Keeps one object open. One thread at a time. */
struct cairn_file_reader;

/** What is read. */
struct cairn_file_extent {
	uint64_t file_bytes; /* of the whole file */
	uint64_t first, end; /* of it; end exclusive. Both 0 of an empty file */
};

/**
 * Open a file, and read its first chunk: what is wrong with that is told here, before an answer has begun. Waits for
 * the disk, as cairn_file_reader_read() does; both are for workers.
 * @param viewer  on whose behalf; NULL: all files may be read. Copied
 * @param[out] extent  set with CAIRN_OK; with CAIRN_E_LIMIT file_bytes is
 * @param[out] out     owned by the caller, cairn_file_reader_free()
 * @return CAIRN_OK; CAIRN_E_LIMIT the range starts past the end; what cairn_file_reader_read() answers
 */
CAIRN_MUST_USE enum cairn_status cairn_file_reader_open(struct cairn_cas *cas, const char *viewer,
							const struct cairn_hash *file,
							const struct cairn_byte_range *range,
							struct cairn_file_extent *extent,
							struct cairn_file_reader **out, struct cairn_diag *diag);

/**
 * Read what comes next. What is found damaged or missing is acted upon as a fetch does: another copy is read in its
 * place, and what none is sound of counts as lost. The chunks of a file that is read whole must give its hash before
 * the last of them is handed out. After a failure the same may be asked for again.
 * @param max  at least 1
 * @param[out] n  bytes written to out, max of them except for the end of the range; where a chunk cannot be had, those
 *                before it. 0 with CAIRN_OK: all was read
 * @return CAIRN_OK
 *         CAIRN_E_NOT_FOUND  unknown, or not the viewer's to read; maybe since a moment ago
 *         CAIRN_E_CONFLICT   a xorb of it is gone, or the index contradicts itself
 *         CAIRN_E_DAMAGED    stored bytes are damaged or missing, and no copy is sound (object.damaged, object.missing)
 *         CAIRN_E_BUSY       damage was found, and the index takes no writes; or index or store do not answer
 *         CAIRN_E_IO         it cannot be read now (object.unreadable)
 *         CAIRN_E_FULL, CAIRN_E_FORMAT, CAIRN_E_LIMIT, CAIRN_E_NOMEM  as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_file_reader_read(struct cairn_file_reader *r, uint8_t *out, size_t max,
							size_t *n, struct cairn_diag *diag);

/** NULL is harmless. */
void cairn_file_reader_free(struct cairn_file_reader *r);
void cairn_file_reader_freep(struct cairn_file_reader **r);

#endif
