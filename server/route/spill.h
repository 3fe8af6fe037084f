/* A reply that is written piece by piece: in memory while it is small, in a file without a name when it grows, so that
 * no answer, however long, needs memory of its size. */
#ifndef CAIRN_SERVER_SPILL_H
#define CAIRN_SERVER_SPILL_H

#include "base/buf.h"
#include "server/http/http.h"
#include "store/spool.h"

/** Owned by one thread at a time. Write to buf, and call spill_check() after each piece of at most 64 KiB. */
struct spill {
	struct cairn_buf buf;
	const char *dir; /* for the file; borrowed */
	uint64_t bytes_max;
	struct cairn_spool *spool; /* NULL: all of it is in buf */
	enum cairn_status status;  /* sticky */
	uint64_t over_bytes;       /* with CAIRN_E_LIMIT: how long it was when that was found */
};

/** @param bytes_max  of the whole reply; over it the status is CAIRN_E_LIMIT */
void spill_init(struct spill *s, const char *dir, uint64_t bytes_max);
void spill_fini(struct spill *s);

/** Move to the file what would not stay small. */
void spill_check(struct spill *s);

/** All is written: move the rest to the file, if there is one. On the thread that wrote; then the status is known. */
void spill_finish(struct spill *s);

/** Reply that it is over bytes_max (rule plan.bytes), with both numbers. */
void spill_reply_over(const struct spill *s, struct http_request *req, unsigned code);

/** Reply with what was written and finished; the spill is empty after it. A failure on the way is replied as such. */
void spill_reply(struct spill *s, struct http_request *req, unsigned code, const char *content_type);

#endif
