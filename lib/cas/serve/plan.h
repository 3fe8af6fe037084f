/* Plans how to rebuild a file, or a range of it, from its xorbs. Reads only the index. */
#ifndef CAIRN_CAS_SERVE_PLAN_H
#define CAIRN_CAS_SERVE_PLAN_H

#include "cas/cas.h"

/** Chunks [start, end) of one xorb, in the file's order: only chunks that the range touches. */
struct cairn_plan_term {
	uint32_t xorb; /* index in the plan's xorbs */
	uint32_t start, end;
	uint32_t unpacked_bytes;
};

/** Chunks [start, end) of a xorb, and their bytes in the serialized xorb. */
struct cairn_plan_range {
	uint32_t start, end;
	uint64_t first_byte, end_byte; /* end exclusive */
};

/** A xorb and the ranges needed of it, which ascend and neither overlap nor touch. */
struct cairn_plan_xorb {
	struct cairn_hash hash;
	uint32_t first_range; /* index in the plan's ranges */
	uint32_t n_ranges;
	uint64_t stored_bytes; /* size of its object, by its row; 0: the row vouches for none */
	struct cairn_copy_id copy;
};

/** A plan. Owns its arrays: at most 80 bytes per term of the file. Zeroed is empty. */
struct cairn_plan {
	uint64_t file_bytes;              /* size of the whole file */
	uint64_t offset_into_first_range; /* bytes of the first term before the range begins */
	uint32_t n_terms, n_ranges, n_xorbs;
	struct cairn_plan_term *terms;
	struct cairn_plan_range *ranges;
	struct cairn_plan_xorb *xorbs;
};
void cairn_plan_fini(struct cairn_plan *plan);

struct cairn_byte_range {
	enum {
		CAIRN_RANGE_ALL,
		CAIRN_RANGE_FROM_TO, /* first..last, last inclusive; UINT64_MAX: to the end */
		CAIRN_RANGE_SUFFIX,  /* the last suffix_bytes bytes */
	} kind;
	uint64_t first, last;  /* for CAIRN_RANGE_FROM_TO */
	uint64_t suffix_bytes; /* for CAIRN_RANGE_SUFFIX */
};

/** Finds the bytes [*first, *end) of a file that a range selects. @return false: none, it starts past the end */
bool cairn_byte_range_clip(const struct cairn_byte_range *range, uint64_t file_bytes, uint64_t *first, uint64_t *end);

/** Does the same, but also accepts a range from the start of an empty file, which clients request, and get no bytes. */
bool cairn_byte_range_find(const struct cairn_byte_range *range, uint64_t file_bytes, uint64_t *first, uint64_t *end);

/** Plans a file, or a range of it. An empty file has a plan without terms, also for a range from its start. Takes at
 * most 140 bytes of memory per term during the call. Reads a row for each xorb. Reads the places of chunks only where
 * the range begins or ends within a term, or a xorb was repacked. The plan's xorbs come in the order in which the file
 * first needs them.
 * @return CAIRN_OK
 *         CAIRN_E_NOT_FOUND  unknown, or the viewer may not read it
 *         CAIRN_E_LIMIT      the range starts past the end; out->file_bytes is set
 *         CAIRN_E_CONFLICT   a xorb of it is gone, or its bytes are stored elsewhere; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_plan(struct cairn_cas *cas, const char *viewer,
						const struct cairn_hash *file, const struct cairn_byte_range *range,
						struct cairn_plan *out);

enum { CAIRN_PLAN_SMALL_TERMS = 16 };

/** Plans a whole file of few terms, which takes only some lookups. @return as cairn_cas_plan(); CAIRN_E_BUSY: it has
 * more than CAIRN_PLAN_SMALL_TERMS terms, and no row of a xorb was read */
CAIRN_MUST_USE enum cairn_status cairn_cas_plan_small(struct cairn_cas *cas, const char *viewer,
						      const struct cairn_hash *file, struct cairn_plan *out);

/** Appends the URL of bytes first to last of a planned xorb in the store itself, by which its bearer can read only
 * these bytes (cairn_store_add_address()). For workers.
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the xorb must be fetched from this server, which repairs its row: it has no
 *         object, or not as the row describes; as cairn_store_add_address(); as index and store (cas.h) */
CAIRN_MUST_USE enum cairn_status cairn_fetch_add_store_address(struct cairn_cas *cas, struct cairn_buf *out,
							       const struct cairn_plan_xorb *xorb, uint64_t first,
							       uint64_t last, uint64_t life_s);

#endif
