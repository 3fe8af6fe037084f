/* Answers chunk queries. */
#ifndef CAIRN_CAS_SERVE_QUERY_CHUNK_H
#define CAIRN_CAS_SERVE_QUERY_CHUNK_H

#include "cas/answer.h"
#include "cas/cas.h"

/** Finds an answer in memory. Never waits for an index or a store on another machine.
 * @return the answer, to be released; NULL: none is in memory */
const struct cairn_answer *cairn_cas_query_kept(struct cairn_cas *cas, const struct cairn_cas_who *who,
						const struct cairn_hash *chunk);

/** Finds out by cairn_index_screen() whether a query is a miss or needs cairn_cas_query(). @param screen  with done set
 * @param who  its strings are borrowed until done is called */
bool cairn_cas_screen(struct cairn_cas *cas, const struct cairn_cas_who *who, const struct cairn_hash *chunk,
		      struct cairn_index_screen *screen);
/** Waits until done was called for all screens. */
void cairn_cas_finish_screens(struct cairn_cas *cas);

/** Answers a chunk query. @param[out] out  to be released, cairn_answer_unref()
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND not tracked; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_query(struct cairn_cas *cas, const struct cairn_cas_who *who,
						 const struct cairn_hash *chunk, const struct cairn_answer **out);

/** Visits the xorbs that the answer would offer, for callers that cut content themselves. The first xorb has the chunk.
 * @param visit  returns false to stop; list is borrowed during the call
 * @return CAIRN_OK, also if there is no answer; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_each_offered(
	struct cairn_cas *cas, const struct cairn_cas_who *who, const struct cairn_hash *chunk,
	bool (*visit)(void *ctx, const struct cairn_hash *xorb, const struct cairn_chunk_list *list), void *ctx);

#endif
