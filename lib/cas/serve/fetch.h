/* Serves a fetch: the bytes of a xorb that a grant covers, after they were verified. */
#ifndef CAIRN_CAS_SERVE_FETCH_H
#define CAIRN_CAS_SERVE_FETCH_H

#include "cas/cas.h"
#include "cas/object/fetch_grant.h"
#include "cas/serve/plan.h"

/* Limits of the bytes read at opening, because the thread that opens also serves other requests. */
enum {
	CAIRN_FETCH_OPEN_BYTES = 64 * 1024, /* requested bytes */
	CAIRN_FETCH_OPEN_CHUNKS = 16,       /* chunks of these bytes and of the blocks around them: 2 MiB unpacked */
};

struct cairn_fetch_ranges {
	size_t n;
	struct cairn_fetch_range range[CAIRN_FETCH_RANGES_MAX];
};

/** The open object that bytes are read or sent from. Owned; cairn_fetch_source_fini(). For one thread at a time. */
struct cairn_fetch_source {
	struct cairn_store_object *object; /* NULL: nothing is open */
};

/** A fetch. The caller sets the first group of members, and zeroes the rest. */
struct cairn_fetch {
	struct cairn_hash xorb;
	bool no_body;   /* the body is not sent; only its ranges are needed */
	size_t n_asked; /* number of ranges in the request; 0: all granted bytes */
	struct cairn_byte_range asked[CAIRN_FETCH_RANGES_MAX];

	struct cairn_fetch_ranges granted;

	/* set by cairn_fetch_open() or cairn_fetch_verify() */
	uint64_t object_bytes;
	struct cairn_fetch_ranges wanted; /* the ranges to send */
	struct cairn_fetch_source source; /* the opened object; the sender may take it over */
};

/** Checks the grant of a fetch URL. @param ranges, expires, signature  from the URL; NULL: absent
 * @return CAIRN_OK; CAIRN_E_DENIED (fetch.signature, fetch.expired); CAIRN_E_IO the signed ranges are malformed */
CAIRN_MUST_USE enum cairn_status cairn_fetch_check_grant(struct cairn_cas *cas, struct cairn_fetch *f,
							 const char *ranges, const char *expires, const char *signature,
							 int64_t now_unix_s, struct cairn_diag *diag);

/** Opens the object and decides which of its bytes are sent.
 * @param verify  accept only bytes verified lately (verify_read.h), or so few that this call can read and verify them
 * @return CAIRN_OK
 *         CAIRN_E_BUSY    undecided: call cairn_fetch_verify(), which also returns failures of index and store. Also:
 *         the first requested bytes cannot be read
 *         CAIRN_E_USAGE   too many bytes for this grant (range.many)
 *         CAIRN_E_LIMIT   a range starts past the end of the xorb (range.past_end)
 *         CAIRN_E_DENIED  a range is not within the grant (fetch.range) */
CAIRN_MUST_USE enum cairn_status cairn_fetch_open(struct cairn_cas *cas, struct cairn_fetch *f, bool verify,
						  struct cairn_diag *diag);

/** Does the same with the first copy whose requested bytes are sound. Reads them; for workers. Mends damaged or missing
 * objects found on the way (mend.h).
 * @param stop  called before each chunk; true ends it. May be NULL
 * @return CAIRN_OK the first requested bytes were received, or are on a disk of this machine; CAIRN_E_USAGE,
 *         CAIRN_E_LIMIT, CAIRN_E_DENIED as cairn_fetch_open(); CAIRN_E_BUSY also if the object changes in the store
 *         again and again (object.changing); else as cas_sound_copy() */
CAIRN_MUST_USE enum cairn_status cairn_fetch_verify(struct cairn_cas *cas, struct cairn_fetch *f,
						    bool (*stop)(void *ctx), void *stop_ctx, struct cairn_diag *diag);

/** Hands over a descriptor to send from, which the caller closes. The source can no longer be read.
 * @param[out] offset  where the object begins in that file
 * @return -1: the store has no descriptor, so read the source */
int cairn_fetch_source_take_fd(struct cairn_fetch_source *source, uint64_t *offset);

/** Reads exactly len bytes at an offset of the object. @return as cairn_store_object_read() */
CAIRN_MUST_USE enum cairn_status cairn_fetch_source_read(struct cairn_fetch_source *source, uint64_t offset,
							 uint8_t *out, size_t len);

/** Harmless if nothing is open. */
void cairn_fetch_source_fini(struct cairn_fetch_source *source);

#endif
