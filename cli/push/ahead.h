/* Questions asked ahead: what the server has of the first chunk of files that come later. A push asks about the first
 * chunk of each, and over a slow way many small files would wait for as many answers, one after the other.
 *
 * It is a help, not a duty: of what cannot be read or asked there is no answer, and the push asks by itself. */
#ifndef CAIRN_CLI_AHEAD_H
#define CAIRN_CLI_AHEAD_H

#include "cli/common/client.h"
#include "hash/hash.h"

enum { AHEAD_MAX = 16 }; /* questions at once */

/** Used by one thread, and by those that it starts. */
struct ahead;

/** What the threads ask about the push. */
struct ahead_push {
	/** Open a file, which must be a regular one. Any thread. @return -1: nothing is to be asked about it */
	int (*open)(void *open_ctx, size_t file);
	void *open_ctx;
	/** Is it known where the chunk is? Any thread. */
	bool (*knows)(void *knows_ctx, const struct cairn_hash *chunk);
	void *knows_ctx;
};

/** @param like  a client of the server, borrowed: each thread gets one like it
 *  @param n  files, told by number from 0 on
 *  @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status ahead_new(struct ahead **out, const struct client *like, size_t n,
					   const struct ahead_push *push);

/** Ends what is being asked. For CLEANUP(). */
void ahead_freep(struct ahead **out);

/** The push begins with this file: nothing is asked about it and those before any more. */
void ahead_begin(struct ahead *a, size_t file);

/** The answer about the first chunk of the file that was begun, if it was asked for: waits until it is there.
 *  @param[out] answer  what the server said
 *  @param[out] found  false: it has not got it, and there is no answer
 *  @return false: nobody has asked about this chunk */
bool ahead_take(struct ahead *a, const struct cairn_hash *chunk, struct cairn_buf *answer, bool *found);

/** What a question brought, whoever has asked it: the more were in vain, the more are asked at once. A long answer may
 * be about what comes later, too, and then it is in vain to ask.
 *  @param answer_bytes  0: nothing was found */
void ahead_learn(struct ahead *a, size_t answer_bytes);

/** Questions so far. */
uint64_t ahead_queries(struct ahead *a);

#endif
