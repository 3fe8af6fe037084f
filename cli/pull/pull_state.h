/* FILE.part.state records which chunks of a pull are in FILE.part. It is written as terms are completed. It is trusted
 * only after the bytes in FILE.part are hashed again, so a running pull needs no sync. */
#ifndef CAIRN_CLI_PULL_STATE_H
#define CAIRN_CLI_PULL_STATE_H

#include "hash/hash.h"

/* state  := "cairn pull 1\n" 3 zeros, file hash, u64le first, u64le end; record*
 * record := u64le place of a chunk in the file, u64le its length, its hash
 *           a length of 0 ends a window: the chunks between the window before and this place are complete */
enum { PULL_STATE_HEADER_BYTES = 64, PULL_STATE_RECORD_BYTES = 48 };

struct pull_chunk {
	uint64_t at, bytes;
	struct cairn_hash hash;
};

/** The state file. Owned by one thread at a time. fd is borrowed. */
struct pull_state {
	int fd;
	uint64_t end; /* offset of the next record */
};

/** Chunks read from the state, sorted by offset, without duplicates. */
struct pull_chunks {
	struct pull_chunk *at; /* owned */
	size_t n, cap;
	bool ended; /* the window is recorded as complete, up to window_end */
	uint64_t window_end;
};
void pull_chunks_fini(struct pull_chunks *chunks);

/** Does the state belong to this pull: bytes [first, end) of this file? */
bool pull_state_matches(int fd, const struct cairn_hash *file, uint64_t first, uint64_t end);

/** Starts an empty state. @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL */
CAIRN_MUST_USE enum cairn_status pull_state_begin(struct pull_state *s, const struct cairn_hash *file, uint64_t first,
						  uint64_t end, struct cairn_diag *diag);

/** Appends records. @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status pull_state_add(struct pull_state *s, const struct pull_chunk *chunks, size_t n,
						struct cairn_diag *diag);

/** Records that the window is complete. @return as pull_state_add() */
CAIRN_MUST_USE enum cairn_status pull_state_end_window(struct pull_state *s, uint64_t window_end,
						       struct cairn_diag *diag);

/** Reads the records of one window. Ignores a torn last record, and records that no window can have. @param offset
 * where the window begins in the state; PULL_STATE_HEADER_BYTES for the first @param[out] next  where the following
 * window begins @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status pull_state_read(const struct pull_state *s, uint64_t offset, struct pull_chunks *out,
						 uint64_t *next, struct cairn_diag *diag);

/** Removes all records from offset on. @return CAIRN_OK; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status pull_state_cut(struct pull_state *s, uint64_t offset, struct cairn_diag *diag);

/** Writes all bytes at an offset of a file. @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL */
CAIRN_MUST_USE enum cairn_status pull_write_at(int fd, uint64_t offset, const void *bytes, size_t len,
					       struct cairn_diag *diag);

#endif
