/* A window of a file, from the server's plan: its terms, and the byte ranges of xorbs with their chunks. */
#ifndef CAIRN_CLI_PULL_PLAN_H
#define CAIRN_CLI_PULL_PLAN_H

#include "base/json.h"
#include "cli/common/client.h"
#include "hash/hash.h"

enum {
	PULL_PLAN_BYTES_MAX = 128 * 1024 * 1024, /* longest plan, as JSON */
	/* JSON values of a plan: enough for a window of 8 KiB chunks, none of them adjacent */
	PULL_PLAN_VALUES_MAX = 4 * 1024 * 1024,
	PULL_PLAN_CHUNKS_MAX = 1024 * 1024, /* most chunks of a window, 48 bytes each */
};

/** Chunks [start, end) of a xorb, at their place in the file. */
struct pull_term {
	struct cairn_hash xorb;
	uint32_t start, end;
	uint64_t at, bytes; /* offset and length in the file */
	size_t slot;        /* index of its first chunk among those of the window */
	bool complete;      /* complete already, so not fetched */
	uint64_t next_at;   /* offset of its next chunk; used by the fetching thread */
};

/** A range of a xorb to fetch, and the terms that use it. */
struct pull_unit {
	struct cairn_hash xorb;
	uint32_t start, end; /* its chunks */
	struct client_range range;
	size_t first_use, n_uses; /* which of the plan's uses belong to it */
};

/** Owns all its members. Zeroed: empty. */
struct pull_plan {
	struct cairn_json *json; /* keeps the URLs alive */
	struct pull_term *terms; /* in the order of the file */
	size_t n_terms;
	size_t *uses; /* indices of the terms, sorted by xorb and first chunk */
	struct pull_unit *units;
	size_t n_units, cap_units;
	size_t n_chunks;  /* number of chunks of all terms */
	uint64_t at, end; /* range of the file that the terms cover; may exceed the requested range */
};
void pull_plan_fini(struct pull_plan *plan);

/** Asks the server for the plan of bytes [first, end) of a file.
 * @param file_bytes  length of the file
 * @return as client_request()
 *         CAIRN_E_MISMATCH  the plan does not cover these bytes, or contradicts itself
 *         CAIRN_E_LIMIT     more than PULL_PLAN_CHUNKS_MAX chunks */
CAIRN_MUST_USE enum cairn_status pull_plan_get(struct pull_plan *out, struct client *client,
					       const struct cairn_hash *file, uint64_t first, uint64_t end,
					       uint64_t file_bytes, struct cairn_diag *diag);

/** Reads a plan. @return as pull_plan_get() */
CAIRN_MUST_USE enum cairn_status pull_plan_parse(struct pull_plan *out, const uint8_t *json, size_t len, uint64_t first,
						 uint64_t end, uint64_t file_bytes, struct cairn_diag *diag);

#endif
