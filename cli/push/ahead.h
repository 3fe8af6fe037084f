/* Asks the server in advance about the first chunks of later files. A push asks about the first chunk of each file.
 * Over a slow link, many small files would wait for one answer after the other. These questions are optional: if a file
 * cannot be read or asked about, the push asks by itself. */
#ifndef CAIRN_CLI_AHEAD_H
#define CAIRN_CLI_AHEAD_H

#include "cli/common/client.h"
#include "hash/hash.h"

enum { AHEAD_MAX = 16 }; /* most questions at the same time */

/** Used by one thread, and by the threads that it starts. */
struct ahead;

/** Callbacks of the threads into the push. */
struct ahead_push {
	/** Opens a file, which must be a regular one. Any thread. @return -1: do not ask about it */
	int (*open)(void *open_ctx, size_t file);
	void *open_ctx;
	/** Does the push know this chunk already? Any thread. */
	bool (*knows)(void *knows_ctx, const struct cairn_hash *chunk);
	void *knows_ctx;
};

/** Starts asking. @param like  a client of the server, borrowed: each thread gets one like it @param n  number of
 * files, identified by index @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status ahead_new(struct ahead **out, const struct client *like, size_t n,
					   const struct ahead_push *push);

/** Ends all questions. For CLEANUP(). */
void ahead_freep(struct ahead **out);

/** Marks this file as the current one. Later questions are only about later files. */
void ahead_begin(struct ahead *a, size_t file);

/** Waits for the answer about the first chunk of the current file, if the server was asked about it.
 * @param[out] answer  the server's answer
 * @param[out] found  false: the server lacks the chunk, and answer is empty
 * @return false: the server was not asked about this chunk */
bool ahead_take(struct ahead *a, const struct cairn_hash *chunk, struct cairn_buf *answer, bool *found);

/** Reports the result of any question. Each short answer allows one more question at the same time. A long answer may
 * also cover later files, so it stops the questions. @param answer_bytes  0: the server did not find the chunk */
void ahead_learn(struct ahead *a, size_t answer_bytes);

/** Returns the number of questions so far. */
uint64_t ahead_queries(struct ahead *a);

#endif
