/* Plans an edit, so that a client can change parts of a file without reading the rest: the windows to cut into chunks
 * again, and the hash subtrees of the rest. */
#ifndef CAIRN_CAS_SERVE_FILE_CHUNKS_H
#define CAIRN_CAS_SERVE_FILE_CHUNKS_H

#include "cas/serve/plan.h"
#include "hash/merkle_subtree.h"

/** Bytes [first, end) to cut into chunks again. Both are chunk boundaries of the present file. */
struct cairn_file_window {
	uint64_t first, end;
};

/** The plan. Owns its arrays: 32 bytes per term, 16 per requested range. Zeroed is empty. */
struct cairn_file_chunks {
	uint64_t n_chunks, file_bytes;
	uint32_t n_windows;
	struct cairn_file_window *windows; /* ascending; they may touch, but do not overlap */
	uint32_t n_kept;
	struct cairn_hash *kept; /* verification hashes of the terms that no window touches, in the file's order */
};
void cairn_file_chunks_fini(struct cairn_file_chunks *chunks);

/** Receives the plan while it is made. */
struct cairn_file_chunks_sink {
	void *ctx;
	/** Receives the part before each window, and after the last, in the file's order: n_windows + 1 calls.
	 * Borrowed.
	 * @param range  NULL: the part is empty */
	void (*range)(void *ctx, const struct cairn_subtree *range);
	/** Called before each term; may be NULL. @return false to give up */
	bool (*go_on)(void *ctx);
};

/** Plans an edit of these ranges, which may overlap and come in any order. Cuts them at the end of the file.
 *
 * A window begins with the chunk in which a range begins. It ends after the range with the second of two chunks in a
 * row whose lengths are not near the chunker's limits: the chunks after it are the same again, whatever was changed
 * (source: the reference client). Further ranges within a window share it.
 *
 * Reads every chunk of the file, one xorb's list at a time; keeps some lists and one subtree.
 * @return CAIRN_OK
 *         CAIRN_E_NOT_FOUND  unknown, or the viewer may not read it
 *         CAIRN_E_USAGE      no range lies in the file; out->file_bytes is set
 *         CAIRN_E_LIMIT      too regular, a part has no small subtree (merkle_subtree.h), or over edit_chunks_max: diag
 *         says which
 *         CAIRN_E_BUSY       the sink gave up
 *         CAIRN_E_CONFLICT   a xorb of it is gone; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_file_chunks(struct cairn_cas *cas, const char *viewer,
						       const struct cairn_hash *file,
						       const struct cairn_byte_range *ranges, size_t n_ranges,
						       const struct cairn_file_chunks_sink *sink,
						       struct cairn_file_chunks *out, struct cairn_diag *diag);

#endif
