/* A long answer, written piece by piece. It is in memory while it is small, and then in a file without a name, so that
 * no answer needs memory of its size. The file counts for the asker until the answer was sent. */
#ifndef CAIRN_CAS_SPILL_H
#define CAIRN_CAS_SPILL_H

#include "base/buf.h"
#include "cas/budget.h"
#include "store/spool.h"

/** An answer, for one thread. Write to buf, and call cairn_spill_check() after each piece of at most 64 KiB. */
struct cairn_spill {
	struct cairn_buf buf;
	struct cairn_cas *cas;
	struct cairn_hash asker;
	struct cairn_use use; /* counts the bytes of the file */
	uint64_t bytes_max;
	struct cairn_spool *spool; /* NULL: all of it is in buf */
	enum cairn_status status;  /* sticky: the first failure */
	struct cairn_diag diag;    /* reason of that failure */
	uint64_t over_bytes;       /* with CAIRN_E_LIMIT: the length when the limit was exceeded */
};

/** Begins an answer. @param asker  the sender that the file counts for
 * @param bytes_max  limit of the whole answer; beyond it the status is CAIRN_E_LIMIT */
void cairn_spill_init(struct cairn_spill *s, struct cairn_cas *cas, const struct cairn_hash *asker, uint64_t bytes_max);

/** Frees the answer; call it after sending, because it removes the file from the disk. */
void cairn_spill_fini(struct cairn_spill *s);

/** Moves the buffered bytes to the file if they are many. */
void cairn_spill_check(struct cairn_spill *s);

/** Ends writing: moves the rest to the file, if there is one. Call it on the writing thread; then status is final. */
void cairn_spill_finish(struct cairn_spill *s);

/** Hands over the file, which the caller closes. Call it after cairn_spill_finish() has succeeded.
 * @param[out] bytes  length of the whole answer
 * @return -1: all of it is in buf, which the caller may take instead */
int cairn_spill_take_fd(struct cairn_spill *s, uint64_t *bytes);

#endif
