/* Visits the chunks of a file, and returns their lengths. Reads only the index. */
#ifndef CAIRN_CAS_SERVE_CHUNK_WALK_H
#define CAIRN_CAS_SERVE_CHUNK_WALK_H

#include "cas/cas.h"

/** A walk. Has the file's terms (24 bytes each) and one chunk list. Zeroed it has no file. For one thread at a time. */
struct cairn_chunk_walk {
	struct cairn_cas *cas;
	struct cairn_index_file file;
	struct cairn_chunk_list list;
	int64_t list_of; /* number of the list's xorb; 0: none */
	uint32_t term;   /* index of the next chunk's term */
	uint32_t chunk;  /* number of the next chunk in the term's xorb */
};

/** Moves to the beginning of a file, also after a walk over another one. Does not check who may read the file.
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND; as index */
CAIRN_MUST_USE enum cairn_status cairn_chunk_walk_begin(struct cairn_chunk_walk *w, struct cairn_cas *cas,
							const struct cairn_hash *file);
/** Moves to the chunk at an offset. @return CAIRN_E_NOT_FOUND none begins there; as cairn_chunk_walk_next() */
CAIRN_MUST_USE enum cairn_status cairn_chunk_walk_seek(struct cairn_chunk_walk *w, uint64_t at);
/** Returns the length of the next chunk. @param[out] len  0: the file has ended
 * @return CAIRN_OK; CAIRN_E_CONFLICT a xorb is gone; as index */
CAIRN_MUST_USE enum cairn_status cairn_chunk_walk_next(struct cairn_chunk_walk *w, uint32_t *len);
void cairn_chunk_walk_fini(struct cairn_chunk_walk *w);

#endif
