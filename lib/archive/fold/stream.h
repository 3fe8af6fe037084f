/* Reads a FOLD file from a pipe: chunks first, and the index that verifies them last. */
#ifndef CAIRN_ARCHIVE_FOLD_STREAM_H
#define CAIRN_ARCHIVE_FOLD_STREAM_H

#include "archive/fold/index.h"
#include "archive/fold/reader.h"

/** A file being read. Memory: 100 bytes a chunk, the index, three times the current chunk. For one thread at a time. */
struct cairn_fold_stream;

/** Reads the header.
 * @param fd  borrowed; other code must not read from it
 * @return CAIRN_OK; CAIRN_E_FORMAT, CAIRN_E_LIMIT as cairn_fold_open(); CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fold_stream_open(struct cairn_fold_stream **out, int fd,
							struct cairn_diag *diag);
void cairn_fold_stream_closep(struct cairn_fold_stream **s);

/** Reads the next chunk: its bytes must match the CRC-32C in its header, and decompress to their length. Repairs
 * nothing from parity. At the end reads the index, which must match each chunk received and its SHA-256.
 * @param[out] chunk  all members but the name, which only the index has
 * @param[out] out    owned by the caller: the content
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND no more chunks, and the index agrees; CAIRN_E_FORMAT, CAIRN_E_LIMIT also
 *         "fold.stream": a layout that Cairn does not write; CAIRN_E_MISMATCH damaged; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fold_stream_next(struct cairn_fold_stream *s, struct cairn_fold_chunk *chunk,
							struct cairn_fold_data *out, struct cairn_diag *diag);

/** Returns the bytes received so far, and the number of bytes before the index. */
uint64_t cairn_fold_stream_at(const struct cairn_fold_stream *s);
uint64_t cairn_fold_stream_total(const struct cairn_fold_stream *s);

/** Returns the index, after the last chunk. Borrowed. */
const struct cairn_fold_index *cairn_fold_stream_index(const struct cairn_fold_stream *s);

#endif
